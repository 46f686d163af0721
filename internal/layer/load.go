package layer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
	"verity/parallel"
	"verity/precision"
)

// A Loader reads layers from a checkpoint. Its methods return empty layers and keep the
// first error, so that a network is described by a list of plain statements. Read then
// fills all layers.
//
// A disk is fastest when it is read in order and without pauses, and a large model leaves
// little memory. So Read follows the order of the files, requests the next weights while
// all threads pack those at hand, and releases each piece of a file once it is packed.
type Loader struct {
	from      *model.Checkpoint
	precision precision.Precision
	pool      *parallel.Pool
	place     map[string]int // of each weight in the files
	jobs      []job
	err       error
}

// A job is what is done with one weight.
type job struct {
	name string
	from model.Weight
	do   func(model.Weight) error
}

const (
	aheadBytes = 64 << 20 // requested before it is needed: some 30 ms of a fast disk
	pieceBytes = 8 << 20  // packed before it is released
)

// NewLoader returns a loader that holds matrices in the format of the weights of held,
// and packs them on all threads of p.
func NewLoader(c *model.Checkpoint, held precision.Precision, p *parallel.Pool) *Loader {
	return &Loader{from: c, precision: held, pool: p, place: places(c)}
}

// places returns the order of the weights in the files.
func places(c *model.Checkpoint) map[string]int {
	at := map[string]int{}
	for i, name := range c.Names() {
		at[name] = i
	}
	return at
}

// Read fills all layers. It returns the first error met, or that of the checkpoint's
// context; the layers must not be used then.
func (l *Loader) Read() error {
	slices.SortStableFunc(l.jobs, func(a, b job) int { return cmp.Compare(l.place[a.name], l.place[b.name]) })
	if l.err == nil {
		l.err = l.from.Reading(func() error { return inOrder(l.from, l.jobs) })
	}
	l.jobs = nil
	return l.err
}

// inOrder does jobs one after the other and stops at the first error.
func inOrder(c *model.Checkpoint, jobs []job) error {
	defer c.DropAll()
	var ahead readAhead
	for i, j := range jobs {
		if err := c.Err(); err != nil {
			return err
		}
		ahead.advance(jobs[i:])
		if err := j.do(j.from); err != nil {
			return err
		}
		ahead.done(j)
	}
	return nil
}

// A readAhead counts what has been requested of the files and not been read yet.
type readAhead struct {
	bytes int
	count int // of jobs
}

// advance requests more of the weights of jobs, which are to be done next.
func (r *readAhead) advance(jobs []job) {
	for r.count < len(jobs) && (r.count == 0 || r.bytes < aheadBytes) {
		jobs[r.count].from.Ahead()
		r.bytes += jobs[r.count].from.Bytes()
		r.count++
	}
}

func (r *readAhead) done(j job) {
	r.bytes -= j.from.Bytes()
	r.count--
}

// add queues a job for a weight, whose shape it checks.
func (l *Loader) add(name string, do func(model.Weight) error, shape ...int) {
	if l.err != nil {
		return
	}
	w, err := l.from.Weight(name, shape...)
	if err != nil {
		l.err = err
		return
	}
	l.jobs = append(l.jobs, job{name, w, do})
}

// Floats returns a weight as float32.
func (l *Loader) Floats(name string, shape ...int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	l.copyTo(x, name, shape...)
	return x
}

func (l *Loader) copyTo(x []float32, name string, shape ...int) {
	l.add(name, func(w model.Weight) error {
		w.Tensor().CopyTo(x, 0)
		return nil
	}, shape...)
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
		l.add(name, func(w model.Weight) error { return l.fill(m, i*out, name, w, 0, out) }, out, in)
	}
	return m
}

// Part packs some rows of the matrix of that name, [out][in]: those from lo to hi
// of each {lo, hi}, one run below the other.
func (l *Loader) Part(out, in int, name string, runs [][2]int) *kernel.Matrix {
	rows := 0
	for _, r := range runs {
		rows += r[1] - r[0]
	}
	m := l.matrix(l.format(name), rows, in)
	l.add(name, func(w model.Weight) error {
		first := 0
		for _, r := range runs {
			if err := l.fill(m, first, name, w, r[0], r[1]); err != nil {
				return err
			}
			first += r[1] - r[0]
		}
		return nil
	}, out, in)
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
	return Linear{W: l.Matrix(out, in, weights...), Bias: bias, Watch: l.Watch(weights...)}
}

// Watch returns the Watch of a product with the named weights.
func (l *Loader) Watch(names ...string) Watch { return Watch{names, l.from.Watch} }

// Conv reads a convolution of the given width over time as a matrix product
// whose input is taps neighbouring rows of channels:
//
//	out[t][o] = b[o] + Σ_k w[o][k]·x[t·stride·channels + k],  k = tap·channels + channel
//
// The file has w as [out][channels][taps].
func (l *Loader) Conv(name string, out, channels, taps int) Linear {
	m := l.matrix(l.floatFormat(name+".weight"), out, channels*taps)
	l.add(name+".weight", func(w model.Weight) error {
		return l.wrap(m.Fill(l.pool, 0, turned(l.pool, w.Tensor())))
	}, out, channels, taps)
	return Linear{W: m, Bias: l.Floats(name+".bias", out)}
}

// turned returns t, [out][channels][taps], as [out][taps·channels].
func turned(p *parallel.Pool, t tensor.Tensor) tensor.Tensor {
	out, channels, taps, size := t.Shape[0], t.Shape[1], t.Shape[2], t.DType.Size()
	to := tensor.Tensor{DType: t.DType, Shape: []int{out, taps * channels}, Data: make([]byte, len(t.Data))}
	p.For(out, 16, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			row := o * channels * taps
			for c := range channels {
				for tap := range taps {
					copy(to.Data[(row+tap*channels+c)*size:][:size], t.Data[(row+c*taps+tap)*size:])
				}
			}
		}
	})
	return to
}

// The token embedding, and the vocabulary head where it is another matrix.
const (
	embedding  = "decoder.embed_tokens.weight"
	untiedHead = "proj_out.weight"
)

// format returns the format that the named matrix is held in. If the checkpoint is
// quantised to the requested format, that is the format of the file.
func (l *Loader) format(name string) precision.Format {
	f := l.precision.Weights
	if name == embedding || name == untiedHead {
		f = cmp.Or(l.precision.Head, f)
	}
	if has, err := precision.ParseFormat(l.from.Quantized()); err != nil || !f.Grouped() || !f.Like(has) {
		return f
	}
	if w, err := l.from.Weight(name); err == nil && w.Packed != nil { // add reports the error
		f, _ = precision.ParseFormat(w.Packed.Format.String())
		return f
	}
	return l.floatFormat(name)
}

// floatFormat returns the format that the named convolution is held in. With few-bit
// weights it keeps that of the file: it is a hundredth of the work, and its error reaches
// all layers.
func (l *Loader) floatFormat(name string) precision.Format {
	if !l.precision.Weights.Grouped() {
		return l.precision.Weights
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
	l.err = l.wrap(err)
	return m
}

// fill packs rows lo … hi-1 of w, of that name, into outputs of m from first on, and
// releases what it has read.
func (l *Loader) fill(m *kernel.Matrix, first int, name string, w model.Weight, lo, hi int) error {
	row := max(1, w.Shape[1]*w.DType.Size())
	step := max(64, pieceBytes/row&^63)
	for o := lo; o < hi; o += step {
		if err := l.from.Err(); err != nil {
			return err
		}
		end := min(hi, o+step)
		if err := l.fillRows(m, first+o-lo, w, o, end); err != nil {
			return l.wrap(fmt.Errorf("%s: %w", name, err))
		}
		w.Drop(o, end)
	}
	return nil
}

// fillRows packs rows lo … hi-1 of w. Codes in the format of m are copied as they are.
func (l *Loader) fillRows(m *kernel.Matrix, first int, w model.Weight, lo, hi int) error {
	packed := w.Packed
	if packed != nil && m.Format() == precision.Int4Z {
		packed = packed.WithZeros()
	}
	if packed == nil || packed.Format.String() != m.Format().String() {
		return m.Fill(l.pool, first, w.Rows(lo, hi))
	}
	return m.FillPacked(l.pool, first, packed, lo, hi)
}

// wrap adds the name of the checkpoint to an error.
func (l *Loader) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.from.Name, err)
}

// Resolve returns the precision that matrices of c are held and computed in: p, with
// every automatic format decided. Automatic weights become f16 if every matrix survives
// the round trip exactly. Otherwise they keep the format of the file, so that nothing is
// lost unasked; few-bit weights always do. For that, a float32 file is read on all
// threads of pool, up to the first weight that is not a binary16.
func Resolve(c *model.Checkpoint, p precision.Precision, pool *parallel.Pool) (precision.Precision, error) {
	if p.Weights == precision.Auto {
		var err error
		if p.Weights, err = exact(c, pool); err != nil {
			return p, err
		}
	}
	p = p.Complete()
	return p, p.Check()
}

// exact returns the narrowest float format that holds every matrix of c exactly. For a
// file that is quantised to integers times a float it returns f16: finer than the steps
// of the file, though not the same bits.
func exact(c *model.Checkpoint, p *parallel.Pool) (precision.Format, error) {
	if f, err := precision.ParseFormat(c.Quantized()); err == nil && f.Grouped() {
		return f, nil
	}
	switch {
	case c.DType() != tensor.F32:
		return kernel.FormatOf(c.DType()), nil
	case c.Quantized() != "":
		return precision.F16, nil
	}
	var jobs []job
	for _, name := range c.Names() {
		w, err := c.Weight(name)
		if err != nil {
			return precision.Auto, err
		}
		if len(w.Shape) >= 2 {
			jobs = append(jobs, job{name: name, from: w, do: func(w model.Weight) error { return fits(w, p) }})
		}
	}
	err := c.Reading(func() error { return inOrder(c, jobs) })
	switch {
	case errors.Is(err, errNotF16):
		return precision.F32, nil
	case err != nil:
		return precision.Auto, err
	}
	return precision.F16, nil
}

var errNotF16 = errors.New("not all weights are binary16")

// fits returns errNotF16 unless all values of a weight are binary16.
func fits(w model.Weight, p *parallel.Pool) error {
	rows := w.Shape[0]
	step := max(1, pieceBytes/max(1, w.Bytes()/max(1, rows)))
	for lo := 0; lo < rows; lo += step {
		var odd atomic.Bool
		hi := min(rows, lo+step)
		p.For(hi-lo, 1, func(from, to int) {
			if !tensor.FitsF16(w.Rows(lo+from, lo+to)) {
				odd.Store(true)
			}
		})
		if odd.Load() {
			return errNotF16
		}
		w.Drop(lo, hi)
	}
	return nil
}
