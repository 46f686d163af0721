package kernel

import "verity/internal/parallel"

// quantiseRows is from how many rows on quantising them is worth a job of its own.
const quantiseRows = 16

// quantise rounds the rows of x to int8, into t.q.
func (t *matmul) quantise(p *parallel.Pool) {
	depth := t.w.depth()
	if need := t.rows * depth; cap(t.q) < need {
		t.q = aligned(need)
	}
	t.q = t.q[:t.rows*depth]
	if cap(t.qScale) < t.rows {
		t.qScale = make([]float32, t.rows)
	}
	t.qScale = t.qScale[:t.rows]
	if t.rows < quantiseRows {
		t.quantiseRange(0, t.rows)
		return
	}
	p.Run((t.rows+quantiseRows-1)/quantiseRows, (*quantiser)(t))
}

// A quantiser is the job of rounding the rows of a matmul, some at a time.
type quantiser matmul

// Part implements parallel.Task.
func (q *quantiser) Part(i int) {
	t := (*matmul)(q)
	t.quantiseRange(i*quantiseRows, min((i+1)*quantiseRows, t.rows))
}

func (t *matmul) quantiseRange(lo, hi int) {
	depth := t.w.depth()
	for r := lo; r < hi; r++ {
		row := t.x[r*t.xStride:][:t.w.in]
		inverse, scale := int8Scale(int8s.fn.maxAbs(row))
		q := t.q[r*depth:][:depth]
		int8s.fn.quantise(q[:len(row)], row, inverse) // what is left meets weights of zero
		t.qScale[r] = scale
	}
}

// sumInt8 sets acc to the sums of rows rows from first on, for panel p.
func (t *matmul) sumInt8(acc []int32, p, first, rows int) {
	clear(acc)
	in := t.w.depth()
	w := view[int8](t.w.data)[p*panel*in:][:panel*in]
	step, ahead := blocks(rows, in, panel, maxInt8Depth)
	for k := 0; k < in; k += step {
		n := min(step, in-k)
		int8s.fn.tile(acc, t.q[first*in+k:], in, rows, w[k*panel:][:n*panel], ahead)
	}
}

// finishInt8 does the epilogue for the sums of panel p.
func (t *matmul) finishInt8(acc []int32, p, first, rows int) {
	dst, bias := t.target(p, first, rows)
	f := int8s.fn.store
	if t.e == StoreAdd {
		f = int8s.fn.add
	}
	o := p * panel
	f(dst, acc, t.w.offset[o:][:len(bias)], t.qScale[first:][:rows], t.w.scale[o:][:len(bias)], bias, t.w.out, rows)
	t.activate(dst, len(bias), rows)
}
