package kernel

import "verity/parallel"

// quantiseRows is the least number of rows that are quantised in a job of their own.
const quantiseRows = 16

// Rounded is activations rounded to int8. A caller of MatMulKV that multiplies the same
// activations by several matrices may keep it between the calls.
type Rounded struct {
	q     []uint8 // [rows][depth], plus 128
	scale []float32
	full  bool

	// With groups, q holds int8 values, and scale one number per group of a row.
	start  []int32
	groups int
}

// rowsFrom returns rows from first on, in groups.
func (r *Rounded) rowsFrom(first, groups int) groupedRows {
	return groupedRows{
		q: r.q[first*groups*groupSize:], start: r.start[first*groups:], scale: r.scale[first*groups:],
		stride: groups * groupSize, groups: groups,
	}
}

// quantise rounds the rows of x to int8, into t.rounded, unless that was done before.
func (t *matmul) quantise(p *parallel.Pool) {
	if t.rounded == nil {
		t.rounded = &t.own
		t.own.full = false
	}
	r, need, groups := t.rounded, t.rows*t.w.depth(), 1
	if t.w.few != nil {
		groups = t.w.groups()
	}
	if r.full {
		if len(r.q) != need || r.groups != groups {
			panic("kernel: Rounded is of other activations")
		}
		return
	}
	if cap(r.q) < need {
		r.q = aligned(need)
	}
	r.q = r.q[:need]
	r.scale, r.start = resize(r.scale, t.rows*groups), resize(r.start, t.rows*groups)
	r.groups, r.full = groups, true
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
	if t.w.few != nil {
		n := t.w.groups()
		for r := lo; r < hi; r++ {
			to := t.rounded.rowsFrom(r, n)
			fewBits.fn.quantise(to.q[:depth], to.scale[:n], to.start[:n], t.x[r*t.xStride:][:t.w.in])
		}
		return
	}
	for r := lo; r < hi; r++ {
		row := t.x[r*t.xStride:][:t.w.in]
		inverse, scale := int8Scale(int8s.fn.maxAbs(row))
		q := t.rounded.q[r*depth:][:depth]
		int8s.fn.quantise(q[:len(row)], row, inverse) // the rest of q meets weights of zero
		t.rounded.scale[r] = scale
	}
}

// sumInt8 sets acc to the sums of rows rows from first on, for panel p.
func (t *matmul) sumInt8(acc []int32, p, first, rows int) {
	in, tile := t.w.depth(), int8s.fn.first
	w := view[int8](t.w.data)[p*panel*in:][:panel*in]
	step, ahead := blocks(rows, in, panel, blockBytesInt8, t.depth)
	if s := int8s.fn.stream; s > 0 && rows >= s && rows < manyRows {
		step = max(1, in)
	}
	for k := 0; k == 0 || k < in; k += step { // once, where there is nothing to sum
		n, next := min(step, in-k), hint{ahead: ahead, again: first%t.unitRows != 0}
		if k+n == in && rows >= manyRows {
			next.dst, next.stride = t.goal(p, first, rows)
		}
		tile(acc, t.rounded.q[first*in+k:], in, rows, w[k*panel:][:n*panel], next)
		tile = int8s.fn.tile
	}
}

// goal returns the memory that rows of panel p will be written to, and its stride in
// bytes. It returns nil if that is not one block of rows. Without prefetching, writing
// waits for memory. (In floating-point products that wait is so small that prefetching
// does more harm than good.)
func (t *matmul) goal(p, first, rows int) (dst []byte, stride int) {
	if t.places == nil {
		return bytesOf(t.target(p, first, rows)), 4 * t.stride
	}
	to, head := t.places[first], (p*panel-t.stride)/panel
	last := t.places[first+rows-1]
	switch {
	case to.K.i8 != nil:
		return nil, 0 // 64 bytes a row, of which every line would be fetched four times
	case to.K.dim != panel || p*panel < t.stride || t.stride%panel != 0:
		return nil, 0 // a panel is not a head
	case to.Pos%panelKeys != 0 || last.K != to.K || last.Pos != to.Pos+rows-1:
		return nil, 0
	case head < to.K.heads:
		return to.K.memory(to.K.at(head, to.Pos/panelKeys), panel)
	}
	return to.V.memory(to.V.at(head-to.K.heads, to.Pos), panel)
}

// finishInt8 writes the sums of rows rows from first on, outputs o, o+1, …
func (t *matmul) finishInt8(dst []float32, acc []int32, o, first, rows, stride int, bias []float32) {
	f := int8s.fn.store
	if t.e == StoreAdd {
		f = int8s.fn.add
	}
	f(dst, acc, t.w.offset[o:][:len(bias)], t.rounded.scale[first:][:rows], t.w.scale[o:][:len(bias)], bias, stride, rows)
}
