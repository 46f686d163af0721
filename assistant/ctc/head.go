package ctc

import (
	"fmt"
	"math"
	"slices"

	"verity/encoder"
	"verity/internal/formats/safetensors"
	"verity/internal/formats/weights"
	"verity/internal/freelist"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// Taps of the convolutions, and how many positions of the encoder become one frame.
const (
	stemTaps  = 3
	blockTaps = 5
	stride    = 2
	padding   = blockTaps / 2 // rows of zeros before and after
)

// A Head is a small convolutional network that reads letters from the features of a Whisper
// encoder. It is immutable and safe for concurrent use.
//
//	features [2n][in] → norm → convolution of 3 taps, stride 2 → GELU → x [n][width]
//	each block: x += linear(GELU(convolution of 5 taps(norm(x))))
//	norm → linear → log-softmax [n][symbols]
//
// Products are in int8, by the kernels of the network itself. The layout is that of
// tools/drafter/train.py, which trains it by connectionist temporal classification.
//
// Source: Graves et al. 2006, "Connectionist temporal classification".
type Head struct {
	pool       *parallel.Pool
	in, width  int
	symbols    int
	normIn     layer.Norm
	stem       layer.Linear
	blocks     []headBlock
	normOut    layer.Norm
	out        layer.Linear
	workspaces freelist.List[*workspace]
}

type headBlock struct {
	norm        layer.Norm
	conv, mixed layer.Linear
}

// LoadHead reads a head from a file of the format safetensors, which must not change while
// the head is used. The arithmetic runs on pool; nil means the caller's goroutine.
func LoadHead(name string, file []byte, pool *parallel.Pool) (*Head, error) {
	f, err := weights.FromBytes(name, file, safetensors.Parse)
	if err != nil {
		return nil, err
	}
	l := headLoader{name: name, file: f}
	h := &Head{pool: pool}
	h.in = l.size("norm_in.weight")
	h.width = l.size("stem.bias")
	h.symbols = l.size("out.bias")
	h.normIn = l.norm("norm_in", h.in)
	h.stem = l.linear("stem", h.width, stemTaps*h.in)
	for i := 0; ; i++ {
		if _, more := f.Entry(fmt.Sprintf("blocks.%d.norm.weight", i)); !more {
			break
		}
		at := fmt.Sprintf("blocks.%d.", i)
		h.blocks = append(h.blocks, headBlock{
			l.norm(at+"norm", h.width), l.linear(at+"conv", h.width, blockTaps*h.width), l.linear(at+"linear", h.width, h.width),
		})
	}
	h.normOut = l.norm("norm_out", h.width)
	h.out = l.linear("out", h.symbols, h.width)
	if l.err != nil {
		return nil, l.err
	}
	return h, nil
}

// A headLoader reads layers and remembers the first error.
type headLoader struct {
	name string
	file *weights.File
	err  error
}

// entry returns a tensor; an empty one after the first error.
func (l *headLoader) entry(name string) (e weights.Entry) {
	e, ok := l.file.Entry(name)
	if !ok && l.err == nil {
		l.err = fmt.Errorf("%s: there is no tensor %s: not a drafting head?", l.name, name)
	}
	return e
}

// size returns the length of a vector.
func (l *headLoader) size(name string) int {
	e := l.entry(name)
	if l.err == nil && (len(e.Shape) != 1 || e.Shape[0] < 1 || e.Shape[0] > 1<<16) {
		l.err = fmt.Errorf("%s: %s: got shape %v, want a vector of 1 to 65536", l.name, name, e.Shape)
	}
	if l.err != nil {
		return 1
	}
	return e.Shape[0]
}

// tensor returns the values of a tensor of the given shape. Matrices of 8-bit integers have a vector
// of scales, one a row: value = integer · scale.
func (l *headLoader) tensor(name string, shape ...int) tensor.Tensor {
	e := l.entry(name)
	quantized := e.Type == "I8" && len(shape) == 2
	if l.err == nil && (!slices.Equal(e.Shape, shape) || e.DType == 0 && !quantized) {
		l.err = fmt.Errorf("%s: %s: got %v, want %v of floats or 8-bit integers", l.name, name, e, shape)
	}
	if l.err != nil {
		return tensor.FromFloat32(make([]float32, 1), 1)
	}
	if !quantized {
		return e.Tensor()
	}
	scales := l.tensor(name+".scale", shape[0]).Float32()
	values := make([]float32, len(e.Data))
	for i := range values {
		values[i] = float32(int8(e.Data[i])) * scales[min(i/shape[1], len(scales)-1)]
	}
	return tensor.FromFloat32(values, shape...)
}

func (l *headLoader) norm(name string, width int) layer.Norm {
	return layer.Norm{Gain: l.tensor(name+".weight", width).Float32(), Bias: l.tensor(name+".bias", width).Float32()}
}

func (l *headLoader) linear(name string, out, in int) layer.Linear {
	w, bias := l.tensor(name+".weight", out, in), l.tensor(name+".bias", out)
	if l.err != nil {
		return layer.Linear{}
	}
	m, err := kernel.Pack(precision.Int8, w)
	if err != nil {
		l.err = fmt.Errorf("%s: %s: %w", l.name, name, err)
	}
	return layer.Linear{W: m, Bias: bias.Float32()}
}

// Frames are the log-probabilities of the symbols in each frame of two encoder positions (40 ms).
type Frames struct {
	N, Symbols int
	LogProb    []float32 // [N][Symbols]
}

// Row returns the log-probabilities of the symbols in frame i.
func (f *Frames) Row(i int) []float32 { return f.LogProb[i*f.Symbols : (i+1)*f.Symbols] }

// A workspace holds the intermediate values of a run.
type workspace struct{ x, padded, normed []float32 }

// Run returns the log-probabilities of the symbols in the first n positions of features, or in all if there are
// fewer. The width must be that of the head.
func (h *Head) Run(f *encoder.Features, n int) (*Frames, error) {
	if f.Width != h.in {
		return nil, fmt.Errorf("ctc: got features of width %d, want %d: is this the head of another model?", f.Width, h.in)
	}
	frames := min(n, f.Positions) / stride
	w := h.workspaces.Get(func() *workspace { return new(workspace) })
	defer h.workspaces.Put(w, 2)

	// One row of zeros before the positions and one after them is the padding of the stem.
	w.padded = kernel.Resize(w.padded, max((stride*frames+2)*h.in, (frames+2*padding)*h.width))
	clear(w.padded[:h.in])
	h.normIn.Apply(h.pool, w.padded[h.in:], f.Data, stride*frames)
	clear(w.padded[(stride*frames+1)*h.in:][:h.in])
	w.x = kernel.Resize(w.x, frames*h.width)
	h.stem.Apply(h.pool, w.x, w.padded, frames, stride*h.in, kernel.StoreGELU)

	w.normed = kernel.Resize(w.normed, frames*h.width)
	for _, b := range h.blocks {
		clear(w.padded[:padding*h.width])
		b.norm.Apply(h.pool, w.padded[padding*h.width:], w.x, frames)
		clear(w.padded[(frames+padding)*h.width:][:padding*h.width])
		b.conv.Apply(h.pool, w.normed, w.padded, frames, h.width, kernel.StoreGELU)
		b.mixed.Apply(h.pool, w.x, w.normed, frames, h.width, kernel.StoreAdd)
	}
	h.normOut.Apply(h.pool, w.normed, w.x, frames)
	out := &Frames{N: frames, Symbols: h.symbols, LogProb: kernel.NewFloats(frames * h.symbols)}
	h.out.Apply(h.pool, out.LogProb, w.normed, frames, h.width, kernel.Store)
	for i := range frames {
		row := out.Row(i)
		sum := kernel.LogSumExp(row)
		if math.IsNaN(float64(sum)) {
			return nil, fmt.Errorf("ctc: frame %d is not a number: the head's weights are corrupt", i)
		}
		for j := range row {
			row[j] -= sum
		}
	}
	return out, nil
}
