package kernel

import (
	"verity/parallel"
	"verity/precision"
)

// RoundedRows holds activations rounded to int8, for several products with
// matrices of the same format, or from a norm to the product that it feeds. The zero value
// is empty.
type RoundedRows struct {
	q         []uint8 // [rows][depth], plus int8Zero
	scale     []float32
	packedBy4 packedBy4
	full      bool

	// With groups, q holds int8 values, and scale one number per group of a row.
	start  []int32
	groups int

	job roundJob
}

// A roundJob is the job of rounding rows to int8, some at a time: a [parallel.Task].
type roundJob struct {
	to     *RoundedRows
	x      []float32
	rows   int
	stride int
	w      *Matrix // what they will be multiplied by
	norm   Norm    // what each row goes through before, if it has a Gain
}

// A Norm is the weights of a [LayerNorm].
type Norm struct {
	Gain, Bias []float32
	Eps        float32
}

// RoundsInputs reports whether products with m round their activations to int8.
func (m *Matrix) RoundsInputs() bool { return m.format == precision.Int8 || m.grouped != nil }

// inputGroups returns the number of scales of a row of activations.
func (m *Matrix) inputGroups() int {
	if m.grouped != nil {
		return m.groups()
	}
	return 1
}

// Normalise sets r to rows rows of x, [rows][w.In()], that went through n and were rounded
// as products with w round them. A row is in float32 for so short a time that it does not
// leave the nearest cache.
func (r *RoundedRows) Normalise(p *parallel.Pool, x []float32, rows int, n Norm, w *Matrix) {
	r.full = false
	r.round(p, roundJob{x: x, rows: rows, stride: w.in, w: w, norm: n})
}

// roundRows is the number of rows that are rounded at a time, if there are as many.
const roundRows = 16

// round does j, and leaves r full.
func (r *RoundedRows) round(p *parallel.Pool, j roundJob) {
	need, groups := j.rows*j.w.depth(), j.w.inputGroups()
	if cap(r.q) < need {
		r.q = aligned(need)
	}
	r.q = r.q[:need]
	r.scale, r.start = Resize(r.scale, j.rows*groups), Resize(r.start, j.rows*groups)
	r.groups, r.full = groups, true
	r.packedBy4.resize(j.rows, j.w)
	r.job, r.job.to = j, r
	if j.rows < roundRows { // starting a job costs more than the rows
		r.job.roundRange(0, j.rows)
	} else {
		p.Run((j.rows+roundRows-1)/roundRows, &r.job)
	}
	r.job = roundJob{} // keep nothing of the caller's alive
	r.packedBy4.dropIfManyOutliers()
}

// of checks that r, if it is full, is rows rows of activations for products with w.
func (r *RoundedRows) of(rows int, w *Matrix) bool {
	if r.full && (len(r.q) != rows*w.depth() || r.groups != w.inputGroups()) {
		panic("kernel: RoundedRows is of other activations")
	}
	return r.full
}

// rowsFrom returns rows from first on, in groups.
func (r *RoundedRows) rowsFrom(first, groups int) groupedRows {
	return groupedRows{
		q: r.q[first*groups*groupSize:], start: r.start[first*groups:], scale: r.scale[first*groups:],
		stride: groups * groupSize, groups: groups,
	}
}

// Part implements parallel.Task.
func (j *roundJob) Part(i int) { j.roundRange(i*roundRows, min((i+1)*roundRows, j.rows)) }

func (j *roundJob) roundRange(lo, hi int) {
	s := partScratches.Get().(*partScratch)
	defer partScratches.Put(s)
	for r := lo; r < hi; r++ {
		row := j.x[r*j.stride:][:j.w.in]
		if j.norm.Gain != nil {
			s.row = Resize(s.row, len(row))
			LayerNorm(s.row, row, j.norm.Gain, j.norm.Bias, j.norm.Eps)
			row = s.row
		}
		j.to.put(r, row, j.w)
	}
}

// put rounds a row, to row at of r.
func (r *RoundedRows) put(at int, row []float32, w *Matrix) {
	depth := w.depth()
	if w.grouped != nil {
		n := w.groups()
		to := r.rowsFrom(at, n)
		use.fewBits.quantise(to.q[:depth], to.scale[:n], to.start[:n], row)
		return
	}
	inverse, scale := int8Scale(use.int8s.maxAbs(row))
	q := r.q[at*depth:][:depth]
	use.int8s.quantise(q[:len(row)], row, inverse) // the rest of q meets weights of zero
	r.scale[at] = scale
	if len(r.packedBy4.x) > 0 {
		r.packedBy4.setRow(at, q)
	}
}
