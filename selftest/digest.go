package selftest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
)

// A Digest is a hash over numbers that two instruction sets must agree on.
type Digest struct {
	Hash   uint64
	Values int64 // float32 hashed
}

// A Part is how much of a model a digest covers.
type Part string

const (
	// Full is all that a transcription computes, except the mel: the features of a window
	// and the logits of a text in it.
	Full Part = "full"

	// Short is Full behind the first few layers of the encoder: all layers are alike, and a
	// second pass of a large encoder takes too long.
	Short Part = "short"

	// Light is what plain Go can compute of a large model in seconds: two decode steps, two
	// panels of every kind of matrix of the encoder, and attention of a few rows in the
	// shape of its layers.
	Light Part = "light"
)

// So many weights are too many for plain Go, and for all checks within a minute.
const lightFrom, shortFrom = 20_000_000, 500_000_000

// PartOn returns the part of a model that an instruction set can run.
func PartOn(implementation string, c *model.Checkpoint) Part {
	switch n := c.Params(); {
	case implementation == "ref" && n > lightFrom:
		return Light
	case n > shortFrom:
		return Short
	}
	return Full
}

// Digest hashes a part. It loads the encoder if that is nil and needed.
func (s Subject) Digest(ctx context.Context, part Part) (Digest, error) {
	switch {
	case part == Light:
		return s.light(ctx)
	case part != Full && part != Short:
		return Digest{}, fmt.Errorf("digest: got %q, want %s, %s or %s", part, Full, Short, Light)
	case part == Short || s.Encoder == nil:
		const layers = 3
		c := *s.Checkpoint
		if part == Short {
			c.Dims.AudioLayers = min(layers, c.Dims.AudioLayers)
		}
		var err error
		if s.Encoder, err = encoder.New(&c, encoder.Options{Pool: s.Pool, Precision: s.Decoder.Precision()}); err != nil {
			return Digest{}, err
		}
	}
	b, err := prepare(ctx, s)
	if err != nil {
		return Digest{}, err
	}
	defer b.cross.Close()
	return b.digest(), nil
}

func (b *bench) digest() Digest {
	d := newDigester()
	d.add(b.features.Data)
	for _, logits := range b.alone {
		d.add(logits)
	}
	return d.sum()
}

func (s Subject) light(ctx context.Context) (Digest, error) {
	d, c := newDigester(), s.Checkpoint
	cross := s.Decoder.BlankCross()
	defer cross.Close()
	stream := s.Decoder.NewStream(cross)
	defer stream.Close()
	rows := []decoder.Row{{Stream: stream, Token: s.Tokenizer.SOT},
		{Stream: stream, Position: 1, Token: tokenizer.Token(c.Dims.Vocab / 3)}}
	logits := make([]float32, 2*c.Dims.Vocab)
	if err := s.Decoder.Step(ctx, rows, logits); err != nil {
		return Digest{}, err
	}
	d.add(logits)
	p := s.Decoder.Precision()
	for _, name := range encoderKinds(c) {
		if err := d.panels(c, name, p.Weights); err != nil {
			return Digest{}, err
		}
	}
	d.attention(c.Dims, p)
	return d.sum(), nil
}

// encoderKinds returns one matrix of every kind: the convolutions, and those of the
// last layer.
func encoderKinds(c *model.Checkpoint) []string {
	names := []string{"encoder.conv1.weight", "encoder.conv2.weight"}
	for _, name := range []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "fc1", "fc2"} {
		names = append(names, fmt.Sprintf("encoder.layers.%d.%s.weight", c.Dims.AudioLayers-1, name))
	}
	return names
}

// panels hashes products of three rows with the first and the last outputs. The row of a
// convolution, [out][channels][taps], is everything after an output: the order within it
// does not change the arithmetic.
func (d *digester) panels(c *model.Checkpoint, name string, store precision.Format) error {
	t, err := c.Tensor(name)
	if err != nil {
		return err
	}
	out := t.Shape[0]
	in := t.Len() / out
	t.Shape = []int{out, in}
	n := min(64, out)
	x := pattern(3 * in)
	for _, rows := range []tensor.Tensor{t.Rows(0, n), t.Rows(out-n, out)} {
		m, err := kernel.Pack(store, rows)
		if err != nil {
			return err
		}
		dst := make([]float32, 3*n)
		kernel.MatMul(nil, dst, x, 3, in, m, nil, kernel.StoreGELU)
		d.add(dst)
	}
	return nil
}

// attention hashes the attention of seven rows, a tile and one more, over a window of an
// encoder with such weights.
func (d *digester) attention(m model.Dims, p precision.Precision) {
	const rows = 7
	heads, size, n := m.AudioHeads, m.AudioWidth/m.AudioHeads, m.AudioPositions
	cache := encoder.CacheFormat(p)
	keys, values := kernel.NewKeys(heads, size, n, cache), kernel.NewValues(heads, size, n, cache)
	x := pattern((n + rows) * m.AudioWidth)
	keys.Set(nil, 0, n, x, m.AudioWidth)
	values.Set(nil, 0, n, x[m.AudioWidth:], m.AudioWidth)
	spans := make([]kernel.Span, rows)
	for i := range spans {
		spans[i] = kernel.Span{K: keys, V: values, N: n}
	}
	dst := make([]float32, rows*m.AudioWidth)
	kernel.Attend(nil, dst, x[n*m.AudioWidth:], m.AudioWidth, heads, size, 0.125, spans, nil)
	d.add(dst)
}

// pattern returns n numbers from -0.5 to 0.5 without a period.
func pattern(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i*i%97)/96 - 0.5
	}
	return x
}

type digester struct {
	h hash.Hash64
	n int64
}

func newDigester() *digester { return &digester{h: fnv.New64a()} }

func (d *digester) add(x []float32) {
	buf := make([]byte, 0, 4*len(x))
	for _, v := range x {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
	}
	d.h.Write(buf)
	d.n += int64(len(x))
}

func (d *digester) sum() Digest { return Digest{d.h.Sum64(), d.n} }
