package layer

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
	"verity/parallel"
	"verity/precision"
)

// A Loader reads layers from a checkpoint. Its methods return them with nothing in
// them yet, and keep the first error, so that a network is described in one run of
// plain statements; Read then fills all of it.
//
// A disk is fastest when it is read from front to back and never waits, and memory
// is short when a model is large: so Read goes by the order of the files, asks for
// what comes next while all threads pack what is there, and gives back each piece
// of the files when it has been packed.
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
	from model.Stored
	do   func(tensor.Tensor) error
}

const (
	aheadBytes = 64 << 20 // asked for before it is needed: some 30 ms of a fast disk
	pieceBytes = 8 << 20  // packed before it is given back
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

// Read fills all layers. It returns the first error met; then no layer is of use.
func (l *Loader) Read() error {
	slices.SortStableFunc(l.jobs, func(a, b job) int { return cmp.Compare(l.place[a.name], l.place[b.name]) })
	w := window{from: l.from}
	for i, j := range l.jobs {
		if l.err != nil {
			break
		}
		w.advance(l.jobs[i:])
		var t tensor.Tensor
		if t, l.err = l.from.Tensor(j.name); l.err == nil {
			l.err = j.do(t)
		}
		w.done(j)
	}
	l.jobs = nil
	l.from.DropAll()
	return l.err
}

// A window is what has been asked for of the files and not been read.
type window struct {
	from  *model.Checkpoint
	bytes int
	count int // of jobs
}

// advance asks for more weights of jobs, which are to be done next.
func (w *window) advance(jobs []job) {
	for w.count < len(jobs) && (w.count == 0 || w.bytes < aheadBytes) {
		w.from.Ahead(jobs[w.count].name)
		w.bytes += len(jobs[w.count].from.Data)
		w.count++
	}
}

func (w *window) done(j job) {
	w.bytes -= len(j.from.Data)
	w.count--
}

// add says what to do with a weight, checked against its shape.
func (l *Loader) add(name string, do func(tensor.Tensor) error, shape ...int) {
	if l.err != nil {
		return
	}
	s, err := l.from.Stored(name, shape...)
	if err != nil {
		l.err = err
		return
	}
	l.jobs = append(l.jobs, job{name, s, do})
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
	l.add(name, func(t tensor.Tensor) error {
		t.CopyTo(x, 0)
		return nil
	}, shape...)
}

// Norm returns name.weight and name.bias.
func (l *Loader) Norm(name string, width int) Norm {
	return Norm{Gain: l.Floats(name+".weight", width), Bias: l.Floats(name+".bias", width)}
}

// Matrix packs the named weights, each [out][in], one below the other.
func (l *Loader) Matrix(out, in int, names ...string) *kernel.Matrix {
	m := l.matrix(out*len(names), in)
	for i, name := range names {
		l.add(name, func(t tensor.Tensor) error { return l.fill(m, i*out, name, t, 0, out) }, out, in)
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
	m := l.matrix(rows, in)
	l.add(name, func(t tensor.Tensor) error {
		first := 0
		for _, r := range runs {
			if err := l.fill(m, first, name, t, r[0], r[1]); err != nil {
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
	return Linear{W: l.Matrix(out, in, weights...), Bias: bias}
}

// Conv reads a convolution of the given width over time as a matrix product
// whose input is taps neighbouring rows of channels:
//
//	out[t][o] = b[o] + Σ_k w[o][k]·x[t·stride·channels + k],  k = tap·channels + channel
//
// The file has w as [out][channels][taps].
func (l *Loader) Conv(name string, out, channels, taps int) Linear {
	m := l.matrix(out, channels*taps)
	l.add(name+".weight", func(t tensor.Tensor) error {
		return l.wrap(m.Fill(l.pool, 0, turned(t)))
	}, out, channels, taps)
	return Linear{W: m, Bias: l.Floats(name+".bias", out)}
}

// turned returns t, [out][channels][taps], as [out][taps·channels].
func turned(t tensor.Tensor) tensor.Tensor {
	out, channels, taps, size := t.Shape[0], t.Shape[1], t.Shape[2], t.DType.Size()
	to := tensor.Tensor{DType: t.DType, Shape: []int{out, taps * channels}, Data: make([]byte, len(t.Data))}
	for o := range out {
		row := o * channels * taps
		for c := range channels {
			for tap := range taps {
				copy(to.Data[(row+tap*channels+c)*size:][:size], t.Data[(row+c*taps+tap)*size:])
			}
		}
	}
	return to
}

// matrix returns one to be filled.
func (l *Loader) matrix(out, in int) *kernel.Matrix {
	if l.err != nil {
		return nil
	}
	m, err := kernel.NewMatrix(l.precision.Weights, out, in)
	l.err = l.wrap(err)
	return m
}

// fill packs rows lo … hi-1 of t, of that name, into outputs of m from first on,
// and gives back what it has read.
func (l *Loader) fill(m *kernel.Matrix, first int, name string, t tensor.Tensor, lo, hi int) error {
	row := max(1, t.Shape[1]*t.DType.Size())
	step := max(64, pieceBytes/row&^63)
	for o := lo; o < hi; o += step {
		end := min(hi, o+step)
		if err := m.Fill(l.pool, first+o-lo, t.Rows(o, end)); err != nil {
			return l.wrap(fmt.Errorf("%s: %w", name, err))
		}
		l.from.DropRows(name, o, end)
	}
	return nil
}

// wrap says of an error which checkpoint it is about.
func (l *Loader) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.from.Name, err)
}

// Resolve returns what matrices of c are held and computed in: p, with nothing
// automatic. Weights left to it become f16 if every matrix survives the round trip
// exactly, else the format of the file, so that nothing is lost unasked. A float32
// file is read through for that, on all threads of pool, as far as the first weight
// that is no binary16.
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

// exact returns the narrowest float format that holds every matrix of c exactly.
func exact(c *model.Checkpoint, p *parallel.Pool) (precision.Format, error) {
	if c.DType() != tensor.F32 {
		return kernel.FormatOf(c.DType()), nil
	}
	var jobs []job
	for _, name := range c.Names() {
		s, err := c.Stored(name)
		if err != nil {
			return precision.Auto, err
		}
		if len(s.Shape) >= 2 {
			jobs = append(jobs, job{name: name, from: s})
		}
	}
	defer c.DropAll()
	w := window{from: c}
	for i, j := range jobs {
		w.advance(jobs[i:])
		if !fits(c, j, p) {
			return precision.F32, nil
		}
		w.done(j)
	}
	return precision.F16, nil
}

// fits reports whether all of a weight are binary16.
func fits(c *model.Checkpoint, j job, p *parallel.Pool) bool {
	t, err := c.Tensor(j.name)
	if err != nil {
		return false
	}
	rows := t.Shape[0]
	step := max(1, pieceBytes/max(1, len(t.Data)/max(1, rows)))
	for lo := 0; lo < rows; lo += step {
		var odd atomic.Bool
		hi := min(rows, lo+step)
		p.For(hi-lo, 1, func(from, to int) {
			if !tensor.FitsF16(t.Rows(lo+from, lo+to)) {
				odd.Store(true)
			}
		})
		if odd.Load() {
			return false
		}
		c.DropRows(j.name, lo, hi)
	}
	return true
}
