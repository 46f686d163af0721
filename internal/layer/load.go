package layer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"verity/internal/formats/weights"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// A Checkpoint is a file of named weights, as layers read it. A *model.Checkpoint is one,
// and documents the methods.
type Checkpoint interface {
	fmt.Stringer     // its name in errors
	Names() []string // of all weights, as they lie in the files
	Has(name string) bool
	Weight(name string, shape ...int) (weights.Weight, error)
	DType() tensor.DType // of most weights
	Quantised() string   // the few-bit format of most weights as the file names it, or ""
	Tap() func(names []string, x []float32, rows, stride int)

	Reading(do func() error) error // runs do, guarded against changes of mapped files
	LockFiles() (unlock func())
	Err() error // of the context that ends reading
}

// A Loader reads layers from a checkpoint. Its methods return empty layers and keep the
// first error, so that a network is described by a list of plain statements. Read then
// fills all layers, in the order of the files: see readInOrder.
type Loader struct {
	from      Checkpoint
	precision precision.Precision
	pool      *parallel.Pool
	stored    precision.Format // see Stored
	place     map[string]int   // of each weight in the files
	jobs      []job
	err       error
}

// NewLoader returns a loader that packs matrices in the format of wanted.Weights, on all
// threads of p.
func NewLoader(c Checkpoint, wanted precision.Precision, p *parallel.Pool) *Loader {
	l := &Loader{
		from: c, precision: wanted, pool: p, stored: Stored(c), place: map[string]int{}, err: kernel.DisabledError(),
	}
	for i, name := range c.Names() {
		l.place[name] = i
	}
	return l
}

// Read fills all layers. It returns the first error met, or that of the checkpoint's
// context; the layers must not be used then.
func (l *Loader) Read() error {
	slices.SortStableFunc(l.jobs, func(a, b job) int { return cmp.Compare(l.place[a.name], l.place[b.name]) })
	if l.err == nil {
		l.err = l.from.Reading(func() error { return readInOrder(l.from, l.jobs) })
	}
	l.jobs = nil
	return l.err
}

// weight returns the named weight, whose shape it checks.
func (l *Loader) weight(name string, shape ...int) (w weights.Weight, ok bool) {
	if l.err != nil {
		return w, false
	}
	w, l.err = l.from.Weight(name, shape...)
	return w, l.err == nil
}

// add queues a job for all rows of a weight. do gets rows lo … hi-1 of them at a time.
func (l *Loader) add(name string, w weights.Weight, do func(lo, hi int) error) {
	l.jobs = append(l.jobs, job{name, w, 0, w.Shape[0], func(lo, hi int) error {
		if err := do(lo, hi); err != nil {
			return fmt.Errorf("%s: %s: %w", l.from, name, err)
		}
		return nil
	}})
}

// Floats returns a weight as float32.
func (l *Loader) Floats(name string, shape ...int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := kernel.NewFloats(n)
	l.copyTo(x, name, shape...)
	return x
}

func (l *Loader) copyTo(x []float32, name string, shape ...int) {
	w, ok := l.weight(name, shape...)
	if !ok {
		return
	}
	row := len(x) / max(1, shape[0])
	l.add(name, w, func(lo, hi int) error {
		kernel.Widen(l.pool, x[lo*row:hi*row], w.Rows(lo, hi))
		return nil
	})
}

// Norm returns name.weight and name.bias.
func (l *Loader) Norm(name string, width int) Norm {
	return Norm{Gain: l.Floats(name+".weight", width), Bias: l.Floats(name+".bias", width)}
}

// Matrix packs the named weights, each [out][in], one below the other.
func (l *Loader) Matrix(out, in int, names ...string) *kernel.Matrix {
	f := l.format(names[0])
	for _, name := range names[1:] {
		if other := l.format(name); f == precision.Int4 && f.Like(other) {
			f = other // int4z, if any has zeros: it holds the others exactly
		}
	}
	m := l.matrix(f, out*len(names), in)
	for i, name := range names {
		if w, ok := l.weight(name, out, in); ok {
			l.fill(m, i*out, name, w)
		}
	}
	return m
}

// Linear reads one product per name, each with name.weight [out][in], and puts
// them one below the other, so that queries, keys and values are one product.
// A missing name.bias counts as zero, as the bias of Whisper's keys does.
func (l *Loader) Linear(out, in int, names ...string) Linear {
	weights := make([]string, len(names))
	bias := make([]float32, out*len(names))
	for i, name := range names {
		weights[i] = name + ".weight"
		if l.from.Has(name + ".bias") {
			l.copyTo(bias[i*out:][:out], name+".bias", out)
		}
	}
	return Linear{W: l.Matrix(out, in, weights...), Bias: bias, Tap: l.Tap(weights...)}
}

// Tap returns the Tap of a product with the named weights.
func (l *Loader) Tap(names ...string) Tap { return Tap{names, l.from.Tap()} }

// Conv reads a convolution of the given width over time as a matrix product
// whose input is taps neighbouring rows of channels:
//
//	out[t][o] = b[o] + Σ_k w[o][k]·x[t·stride·channels + k],  k = tap·channels + channel
//
// The file has w as [out][channels][taps].
func (l *Loader) Conv(layer string, out, channels, taps int) Linear {
	name := layer + ".weight"
	m := l.matrix(l.floatFormat(name), out, channels*taps)
	if w, ok := l.weight(name, out, channels, taps); ok {
		l.add(name, w, func(lo, hi int) error { return m.Fill(l.pool, lo, transposed(l.pool, w.Rows(lo, hi))) })
	}
	return Linear{W: m, Bias: l.Floats(layer+".bias", out)}
}

// transposed returns t, [out][channels][taps], as [out][taps·channels].
func transposed(p *parallel.Pool, t tensor.Tensor) tensor.Tensor {
	out, channels, taps, size := t.Shape[0], t.Shape[1], t.Shape[2], t.DType.Size()
	row := channels * taps * size
	to := tensor.Tensor{DType: t.DType, Shape: []int{out, taps * channels}, Data: make([]byte, len(t.Data))}
	p.For(out, 16, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			transposeRow(to.Data[o*row:][:row], t.Data[o*row:][:row], channels, taps, size)
		}
	})
	return to
}

// transposeRow transposes [channels][taps] elements of size bytes.
func transposeRow(to, from []byte, channels, taps, size int) {
	for tap := range taps {
		x, y := from[tap*size:], to[tap*channels*size:][:channels*size]
		if size == 2 { // most files: a copy of any length takes several times as long
			for i, k := 0, 0; i < len(y)-1; i, k = i+2, k+2*taps {
				y[i], y[i+1] = x[k], x[k+1]
			}
			continue
		}
		for c := range channels {
			copy(y[c*size:][:size], x[c*taps*size:])
		}
	}
}

// format returns the format that the named matrix is packed in. If the checkpoint is
// quantised to the requested format, that is the format of the file.
func (l *Loader) format(name string) precision.Format {
	f := l.precision.Weights
	if w, err := l.from.Weight(name); err == nil { // add reports the error
		if own := w.Stored(); own != precision.Auto && f.Like(own) {
			return own
		}
	}
	if f.Grouped() && f.Like(l.stored) {
		return l.floatFormat(name)
	}
	return f
}

// floatFormat returns the format that the named convolution is packed in. With few-bit
// weights it keeps that of the file: a convolution is a hundredth of the work, and its error
// reaches all layers.
func (l *Loader) floatFormat(name string) precision.Format {
	if f := l.precision.Weights; !f.Grouped() {
		return f
	}
	if w, err := l.from.Weight(name); err == nil && kernel.FormatOf(w.DType) != precision.Auto {
		return kernel.FormatOf(w.DType)
	}
	return precision.F32
}

// matrix returns an empty matrix.
func (l *Loader) matrix(f precision.Format, out, in int) *kernel.Matrix {
	if l.err != nil {
		return nil
	}
	m, err := kernel.NewMatrix(f, out, in)
	if err != nil {
		l.err = fmt.Errorf("%s: %w", l.from, err)
	}
	return m
}

// fill queues the packing of a weight into outputs of m from first on.
// Codes in the format of m are copied as they are.
func (l *Loader) fill(m *kernel.Matrix, first int, name string, w weights.Weight) {
	packed := w.Packed
	if packed != nil && m.Format() == precision.Int4Z {
		packed = packed.WithZeros()
	}
	l.add(name, w, func(lo, hi int) error {
		switch {
		case packed != nil && precision.Format(packed.Format) == m.Format():
			m.FillPacked(l.pool, first+lo, packed, lo, hi)
			return nil
		case w.ByRow != nil && m.Format() == precision.Int8:
			return m.FillRows(l.pool, first+lo, w.ByRow, lo, hi)
		}
		return m.Fill(l.pool, first+lo, w.Rows(lo, hi))
	})
}

// Resolve returns p with every automatic format decided for the matrices of c. Automatic
// weights become f16 if every matrix survives the round trip exactly, otherwise f32, which
// loses nothing; few-bit weights stay as they are. To decide, it reads a file that is not
// f16 on all threads of pool, up to the first weight that is not a binary16.
func Resolve(c Checkpoint, p precision.Precision, pool *parallel.Pool) (precision.Precision, error) {
	if p.Weights == precision.Auto {
		p.Weights = Stored(c)
	}
	if p.Weights == precision.Auto {
		var err error
		if p.Weights, err = exact(c, pool); err != nil {
			return p, err
		}
	}
	p = p.Complete()
	return p, p.Check()
}

// Stored returns the format that Verity quantised c to, that of most weights; Auto for any other checkpoint.
func Stored(c Checkpoint) (format precision.Format) {
	weights := map[precision.Format]int{}
	for _, name := range c.Names() {
		w, err := c.Weight(name)
		if err != nil || w.Stored() == precision.Auto {
			continue
		}
		f := w.Stored()
		if f == precision.Int4Z {
			f = precision.Int4 // a variant of it
		}
		if weights[f] += w.Len(); weights[f] > weights[format] {
			format = f
		}
	}
	return format
}

// exact returns the narrowest float format that represents every matrix of c exactly. For a
// file that is quantised to integers times a float it returns f16: finer than the steps
// of the file, though not the same bits.
func exact(c Checkpoint, p *parallel.Pool) (precision.Format, error) {
	if c.DType() == tensor.F16 || c.Quantised() != "" {
		return precision.F16, nil
	}
	var jobs []job
	for _, name := range c.Names() {
		w, err := c.Weight(name)
		if err != nil {
			return precision.Auto, err
		}
		if len(w.Shape) >= 2 {
			jobs = append(jobs, job{name, w, 0, w.Shape[0], func(lo, hi int) error { return fits(w, lo, hi, p) }})
		}
	}
	err := c.Reading(func() error { return readInOrder(c, jobs) })
	switch {
	case errors.Is(err, errNotF16):
		return precision.F32, nil
	case err != nil:
		return precision.Auto, err
	}
	return precision.F16, nil
}

var errNotF16 = errors.New("not all weights are binary16")

// fits returns errNotF16 unless all values of rows lo … hi-1 of a weight are binary16.
func fits(w weights.Weight, lo, hi int, p *parallel.Pool) error {
	var odd atomic.Bool
	p.For(hi-lo, 1, func(from, to int) {
		if !tensor.FitsF16(w.Rows(lo+from, lo+to)) {
			odd.Store(true)
		}
	})
	if odd.Load() {
		return errNotF16
	}
	return nil
}
