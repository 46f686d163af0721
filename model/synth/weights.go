package synth

import (
	"io"
	"math"
	"strings"

	"verity/internal/formats/safetensors"
	"verity/internal/tensor"
	"verity/model"
)

const (
	embedName     = "decoder.embed_tokens.weight"
	positionsName = "decoder.embed_positions.weight"
	sinusoidsName = "encoder.embed_positions.weight"
)

// The factors of E[next(p)] and E[<|0.00|>] in a position embedding, relative to the
// token embedding. The layers add at most about a third of the former.
const (
	targetLogit = 160
	zeroLogit   = 40
)

// A network is a checkpoint to be written.
type network struct {
	dims  model.Dims
	embed source  // of the decoder's token embedding
	next  []Token // choice at each position
	zero  Token   // <|0.00|>

	// own is the beginning of the keys of all other weights. Networks with the same own
	// have the same weights where names and shapes are the same.
	own string
}

// newNetwork returns a network that chooses next. Networks of equal width have
// the same token embedding.
func newNetwork(d model.Dims, next []Token, zero Token) *network {
	// The logit of next is width·deviation, the others' deviation is √width·that.
	deviation := max(0.05, 20/float64(d.TextWidth))
	return &network{dims: d, embed: newSource(embedName, newSpread(0, deviation)), next: next, zero: zero}
}

// entries returns all weights, as float16 under Hugging Face's names.
func (n *network) entries() []safetensors.Entry {
	var all []safetensors.Entry
	add := func(name string, shape []int) bool {
		all = append(all, safetensors.Entry{
			Name: "model." + name, DType: tensor.F16, Shape: shape,
			Data: func(w io.Writer) error { return n.write(w, name, shape) },
		})
		return true
	}
	n.dims.EncoderWeights()(add)
	n.dims.DecoderWeights()(add)
	return all
}

func (n *network) write(w io.Writer, name string, shape []int) error {
	size := tensor.Tensor{Shape: shape}.Len()
	switch {
	case name == embedName:
		return n.embed.write(w, size)
	case name == positionsName:
		return n.writePositions(w)
	case name == sinusoidsName:
		_, err := w.Write(bytesOf(sinusoids(shape[0], shape[1])))
		return err
	case strings.HasSuffix(name, "norm.weight"):
		return newSource(n.own+name, gains()).write(w, size)
	}
	return newSource(n.own+name, matrices()).write(w, size)
}

// writePositions writes targetLogit·E[next(p)] + zeroLogit·E[<|0.00|>] for every position p.
func (n *network) writePositions(w io.Writer) error {
	width := n.dims.TextWidth
	row, zero := make([]uint16, width), make([]uint16, width)
	n.embed.fill(zero, int(n.zero)*width)
	for _, t := range n.next {
		n.embed.fill(row, int(t)*width)
		for i, e := range row {
			row[i] = tensor.F16Bits(targetLogit*tensor.F16ToFloat32(e) + zeroLogit*tensor.F16ToFloat32(zero[i]))
		}
		if _, err := w.Write(bytesOf(row)); err != nil {
			return err
		}
	}
	return nil
}

// sinusoids returns the encoder's position embedding: docs/dev/MODEL.md §4.
func sinusoids(positions, width int) []uint16 {
	x, half := make([]uint16, positions*width), width/2
	for t := range positions {
		for i := range half {
			angle := float64(t) * math.Exp(-float64(i)*math.Log(10000)/float64(half-1))
			x[t*width+i] = tensor.F16Bits(float32(math.Sin(angle)))
			x[t*width+half+i] = tensor.F16Bits(float32(math.Cos(angle)))
		}
	}
	return x
}
