package kernel

// sumInt8 sets acc to the sums of rows rows from first on, for panel p.
func (m *matmul) sumInt8(acc []int32, p, first, rows int) {
	in := m.w.depth()
	if len(m.rounded.packedBy4.x) > 0 {
		m.sumPackedBy4(acc, p, first, rows)
		return
	}
	w := view[int8](m.w.data)[p*panel*in:][:panel*in]
	step, ahead := blocks(rows, in, panel, blockBytesInt8, m.depth)
	if s := use.int8s.stream; s > 0 && rows >= s && rows < manyRows {
		step = max(1, in)
	}
	for k := 0; k == 0 || k < in; k += step { // once, where there is nothing to sum
		n, next := min(step, in-k), hint{ahead: ahead, again: first%m.unitRows != 0, begun: k > 0}
		if k+n == in && rows >= manyRows {
			next.dst, next.stride = m.goal(p, first, rows)
		}
		use.int8s.tile(acc, m.rounded.q[first*in+k:], in, rows, w[k*panel:][:n*panel], next)
	}
}

// goal returns the memory that rows of panel p will be written to, and its stride in
// bytes. It returns nil if that is not one block of rows. Without prefetching, writing
// waits for memory. (In floating-point products that wait is so small that prefetching
// does more harm than good.)
func (m *matmul) goal(p, first, rows int) (dst []byte, stride int) {
	if m.places == nil {
		return bytesOf(m.target(p, first, rows)), 4 * m.stride
	}
	to, head := m.places[first], (p*panel-m.stride)/panel
	last := m.places[first+rows-1]
	switch {
	case to.K.isInt8():
		return nil, 0 // 64 bytes a row, of which every line would be fetched four times
	case to.K.dim != panel || p*panel < m.stride || m.stride%panel != 0:
		return nil, 0 // a panel is not a head
	case to.Pos%panelKeys != 0 || last.K != to.K || last.Pos != to.Pos+rows-1:
		return nil, 0
	case head < to.K.heads:
		return to.K.memory(to.K.at(head, to.Pos/panelKeys), panel)
	}
	return to.V.memory(to.V.at(head-to.K.heads, to.Pos), panel)
}

// finishInt8 writes the sums of rows rows from first on, outputs o, o+1, …
func (m *matmul) finishInt8(dst []float32, acc []int32, o, first, rows, stride int, bias []float32) {
	f := use.int8s.store
	if m.e == StoreAdd {
		f = use.int8s.add
	}
	offset, scale := m.w.offset[o:][:len(bias)], m.w.scale[o:][:len(bias)]
	f(dst, acc, offset, m.rounded.scale[first:][:rows], scale, bias, stride, rows)
}
