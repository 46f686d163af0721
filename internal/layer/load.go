package layer

import (
	"fmt"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
)

// A Loader reads layers from a checkpoint. It keeps the first error and then
// returns empty layers, so that a network is read in one run of plain
// statements and checked once at the end.
type Loader struct {
	from  *model.Checkpoint
	store tensor.DType
	err   error
}

// NewLoader returns a loader that stores matrices in the given type.
func NewLoader(c *model.Checkpoint, store tensor.DType) *Loader {
	return &Loader{from: c, store: store}
}

// Err returns the first error met.
func (l *Loader) Err() error { return l.err }

// Tensor returns one weight, checked against its shape.
func (l *Loader) Tensor(name string, shape ...int) tensor.Tensor {
	if l.err != nil {
		return tensor.Tensor{}
	}
	t, err := l.from.Tensor(name, shape...)
	l.err = err
	return t
}

// Vector returns a weight of one dimension as float32.
func (l *Loader) Vector(name string, n int) []float32 {
	t := l.Tensor(name, n)
	if l.err != nil {
		return nil
	}
	defer l.from.Drop(name)
	return t.Float32()
}

// Norm returns name.weight and name.bias.
func (l *Loader) Norm(name string, width int) Norm {
	return Norm{Gain: l.Vector(name+".weight", width), Bias: l.Vector(name+".bias", width)}
}

// Matrix packs the named weights, each [out][in], one below the other.
func (l *Loader) Matrix(out, in int, names ...string) *kernel.Matrix {
	ws := make([]tensor.Tensor, len(names))
	for i, name := range names {
		ws[i] = l.Tensor(name, out, in)
		defer l.from.Drop(name) // packed, it is not to be held twice
	}
	return l.pack(ws...)
}

// Part packs some rows of the matrix of that name, [out][in]: those from lo to hi
// of each {lo, hi}, one run below the other.
func (l *Loader) Part(out, in int, name string, runs [][2]int) *kernel.Matrix {
	t := l.Tensor(name, out, in)
	if l.err != nil {
		return nil
	}
	defer l.from.Drop(name)
	ws := make([]tensor.Tensor, len(runs))
	for i, r := range runs {
		ws[i] = t.Rows(r[0], r[1])
	}
	return l.pack(ws...)
}

// Linear reads one product per name, each with name.weight [out][in], and puts
// them one below the other, so that queries, keys and values are one product.
// A missing name.bias counts as zero, as the bias of Whisper's keys does.
func (l *Loader) Linear(out, in int, names ...string) Linear {
	weights := make([]string, len(names))
	bias := make([]float32, out*len(names))
	for i, name := range names {
		weights[i] = name + ".weight"
		if l.err == nil && l.from.Has(name+".bias") {
			copy(bias[i*out:], l.Vector(name+".bias", out))
		}
	}
	return Linear{W: l.Matrix(out, in, weights...), Bias: bias}
}

// Conv reads a convolution of the given width over time as a matrix product
// whose input is taps neighbouring rows of channels:
//
//	out[t][o] = b[o] + Σ_k w[o][k]·x[t·stride·channels + k],  k = tap·channels + channel
//
// The file has w as [out][channels][taps].
func (l *Loader) Conv(name string, out, channels, taps int) Linear {
	t := l.Tensor(name+".weight", out, channels, taps)
	bias := l.Vector(name+".bias", out)
	if l.err != nil {
		return Linear{}
	}
	defer l.from.Drop(name + ".weight")
	w, turned := t.Float32(), make([]float32, t.Len())
	for o := range out {
		row, src := turned[o*channels*taps:], w[o*channels*taps:]
		for c := range channels {
			for tap := range taps {
				row[tap*channels+c] = src[c*taps+tap]
			}
		}
	}
	return Linear{W: l.pack(tensor.FromFloat32(turned, out, channels*taps)), Bias: bias}
}

func (l *Loader) pack(ws ...tensor.Tensor) *kernel.Matrix {
	if l.err != nil {
		return nil
	}
	m, err := kernel.Pack(l.store, ws...)
	if err != nil {
		l.err = fmt.Errorf("%s: %w", l.from.Name, err)
	}
	return m
}

// Storage returns the type that matrices of c are kept in. A given type is taken
// as it is; the zero type means f16 if every matrix survives the round trip
// exactly, else the type of the file, so that nothing is lost unasked.
func Storage(c *model.Checkpoint, want tensor.DType) (tensor.DType, error) {
	if want != 0 {
		return want, nil
	}
	if c.DType() != tensor.F32 {
		return c.DType(), nil
	}
	for _, name := range c.Names() {
		t, err := c.Tensor(name)
		if err != nil {
			return 0, err
		}
		fits := len(t.Shape) < 2 || tensor.FitsF16(t)
		c.Drop(name)
		if !fits {
			return tensor.F32, nil
		}
	}
	return tensor.F16, nil
}
