package main

// Products with weights in groups of 32 that share a scale: for each group, the sums of two
// vectors of columns at a time stay in registers as integers; then they are scaled and added
// to the sums of the panel, which stay in memory. Twelve instructions of eight SDOT for a
// vector are the least: zero, scvtf, fmul and fmla besides.

// A groupTile is what generates an asmSums over groups: of bytes with scales of float32, or of codes of four bits with those
// of binary16. Where columns have a byte that is to be added to their weights, that is done once, as its product with the sum
// of the activations.
type groupTile struct {
	*fn
	fourBits, columns bool

	acc, q, stride, start, xScale, groupStride, codes, wScale, more, n, zero reg

	count, to, row, starting, scaling reg
}

// Registers of a groupTile; groupWeights is the first of six.
const groupWeights, groupStarts, groupScales, groupZeros, lowBits = vec(16), vec(22), vec(23), vec(24), vec(25)

// groupTotal is the sum of row r in vector j of two.
func groupTotal(r, j int) vec { return vec(2*r + j) }

// groupQuads are sixteen activations of row r.
func groupQuads(r, i int) vec { return vec(8 + 2*r + i) }

// groups writes a groupTile for any number of rows.
func (f *file) groups(name string, all []product, fourBits, columns bool) {
	fn, args := f.function(name, "acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, codes, wScale, more *byte, n, zero, ahead, rows int", "")
	t := &groupTile{
		fn: fn, fourBits: fourBits, columns: columns,
		acc: args[0], q: args[1], stride: args[2], start: args[3], xScale: args[4], groupStride: args[5],
		codes: args[6], wScale: args[7], more: args[8], n: args[9], zero: args[10],
		count: reg(12), to: reg(13), row: reg(14), starting: reg(20), scaling: reg(21),
	}
	if fourBits {
		fn.movib(lowBits, 15)
	}
	if columns {
		fn.dupByte(groupZeros, t.zero)
	} else {
		fn.dupR(groupZeros, t.zero)
	}
	fn.byRows(args[11], all, t.sumRows)
	fn.ret()
}

// size is the bytes of the weights of a group.
func (t *groupTile) size() int {
	if t.fourBits {
		return 1024
	}
	return 2048
}

// sumRows adds all groups to the sums of a panel.
func (t *groupTile) sumRows(p product) {
	x := []reg{15, 16, 17, 19}[:p.rows]
	if !t.fourBits {
		t.advance(1024, t.codes) // in the middle of what ldp reaches
	}
	t.move(t.start, t.starting)
	t.move(t.xScale, t.scaling)
	t.rows(x, t.q, t.stride)
	t.loop(t.n, 1, func() {
		t.loadActivations(p, x)
		t.move(t.acc, t.to)
		t.repeat(8, t.count, func() {
			t.begin(p)
			t.sumProducts(p)
			t.addScaled(p)
			t.advance(32, t.codes, t.to)
		})
		t.advance(t.size()-256, t.codes)
	})
	t.reload(t.codes, t.wScale, t.more, t.n)
	t.advance(256*p.rows, t.acc)
	t.advanceRows(p, t.stride, t.q)
	t.advanceRows(p, t.groupStride, t.start, t.xScale)
}

// loadActivations loads a group of each row, where its sums start, and its scale.
func (t *groupTile) loadActivations(p product, x []reg) {
	for r := range p.rows {
		t.ldpPost(groupQuads(r, 0), groupQuads(r, 1), x[r], 32)
	}
	for _, of := range []struct {
		from reg
		to   vec
	}{{t.starting, groupStarts}, {t.scaling, groupScales}} {
		t.move(of.from, t.row)
		for r := range p.rows {
			t.ldrLane(of.to, r, t.row, t.groupStride)
		}
		t.advance(4, of.from)
	}
	if !t.columns {
		t.mul(groupStarts, groupStarts, groupZeros)
	}
}

// begin sets the sums to where they start.
func (t *groupTile) begin(p product) {
	const zeros = groupWeights
	if t.columns { // what is left of zero without the column's own
		t.ldrDPost(zeros, t.more, 8)
		t.subb(zeros, groupZeros, zeros)
		t.sxtlb(zeros, zeros)
		t.sxtlh2(zeros+1, zeros)
		t.sxtlh(zeros, zeros)
	}
	for r := range p.rows {
		for j := range 2 {
			if t.columns {
				t.mulLane(groupTotal(r, j), zeros+vec(j), groupStarts, r)
			} else {
				t.dup(groupTotal(r, j), groupStarts, r)
			}
		}
	}
}

// sumProducts adds the products of a group. Each pair of vectors of weights is multiplied by four activations: a lane of
// one of the two vectors that have those of a row.
func (t *groupTile) sumProducts(p product) {
	add := func(weights vec, quads, lane int) {
		for row := range p.rows {
			for j := range 2 {
				p.sum(t.fn, groupTotal(row, j), weights+vec(j), groupQuads(row, quads), lane)
			}
		}
	}
	for k := range t.size() / 256 {
		v := groupWeights + vec(2*(k&1))
		if !t.fourBits {
			t.ldp(v, v+1, t.codes, 256*k-1024)
			add(v, k/4, k%4)
			continue
		}
		// The lower halves of bytes are four k, the upper ones those sixteen later.
		t.ldp(v, v+1, t.codes, 256*k)
		for j := range vec(2) {
			t.ushrb(groupWeights+4+j, v+j, 4)
			t.and(v+j, v+j, lowBits)
		}
		add(v, 0, k)
		add(groupWeights+4, 1, k)
	}
}

// addScaled scales the sums of a group and adds them to those of the panel.
func (t *groupTile) addScaled(p product) {
	const scale, sum = groupWeights, groupWeights + 4 // of two vectors; the product of both scales follows scale
	if !t.fourBits {
		t.ldpPost(scale, scale+1, t.wScale, 32)
	} else {
		t.ldrPost(scale+1, t.wScale, 16)
		t.fcvtl(scale, scale+1)
		t.fcvtl2(scale+1, scale+1)
	}
	for r := range p.rows {
		t.ldp(sum, sum+1, t.to, 256*r)
		for j := range vec(2) {
			v := groupTotal(r, int(j))
			t.scvtf(v, v)
			t.fmulLane(scale+2+j, scale+j, groupScales, r)
			t.fmla(sum+j, v, scale+2+j)
		}
		t.stp(sum, sum+1, t.to, 256*r)
	}
}

// nibbles writes the expansion of groups of codes of four bits, to which zeros of columns are added.
func (f *file) nibbles(name string) {
	fn, args := f.function(name, "dst, codes, zeros *byte, groups, ahead int", "")
	dst, codes, more, n, left := args[0], args[1], args[2], args[3], reg(4)
	const low, zeros, spread = vec(0), vec(1), vec(2)
	fn.movib(low, 15)
	// The pattern that gives the zero of a column to its four bytes.
	fn.op("MOVD $%s<>(SB), %v", f.constants("columns", 0, 0x01010101, 0x02020202, 0x03030303), left)
	fn.ldr(spread, left, 0)
	fn.loop(n, 1, func() {
		fn.repeat(16, left, func() {
			fn.ldrSPost(zeros, more, 4)
			fn.tbl(zeros, zeros, spread)
			for quad := range 4 {
				a, b := vec(4+2*quad), vec(5+2*quad)
				fn.ldr(a, codes, 256*quad)
				fn.ushrb(b, a, 4)
				fn.and(a, a, low)
				fn.addb(a, a, zeros)
				fn.addb(b, b, zeros)
				fn.str(a, dst, 256*quad)
				fn.str(b, dst, 256*quad+1024)
			}
			fn.advance(16, codes, dst)
		})
		fn.advance(768, codes)
		fn.advance(1792, dst)
	})
	fn.ret()
}

// mxfp6 writes the expansion of groups of codes of six bits.
func (f *file) mxfp6(name string) {
	fn, args := f.function(name, "dst, codes, table *byte, groups, ahead int", "")
	dst, codes, table, n, left := args[0], args[1], args[2], args[3], reg(4)
	const low, large, sixty, zero = vec(0), vec(1), vec(2), vec(3)
	fn.movib(low, 15)
	fn.ldr(large, table, 0)
	fn.movib(sixty, 60)
	fn.zero(zero)
	fn.loop(n, 1, func() {
		fn.repeat(32, left, func() { // of 512 bytes of pairs of bits, sixteen at a time
			pairs, mask, v, big := vec(4), vec(5), vec(6), vec(7)
			fn.ldr(pairs, codes, 1024)
			for quarter := range 4 {
				// Bytes 512·quarter on: the four bits are in the lower or upper half of
				// bytes 512·(quarter%2) on.
				fn.ldr(v, codes, 512*(quarter%2))
				if quarter >= 2 {
					fn.ushrb(v, v, 4)
				} else {
					fn.and(v, v, low)
				}
				fn.tbl(big, large, v)
				fn.shlb(mask, pairs, 7-2*quarter)
				fn.sshrb(mask, mask, 7)
				fn.bit(v, big, mask)
				fn.shlb(mask, pairs, 6-2*quarter)
				fn.sshrb(mask, mask, 7)
				fn.negb(big, v)
				fn.bit(v, big, mask)
				fn.addb(v, v, sixty)
				fn.str(v, dst, 512*quarter)
			}
			fn.advance(16, codes, dst)
		})
		fn.advance(1024, codes) // 1536 in all
		fn.advance(1536, dst)
	})
	fn.ret()
}
