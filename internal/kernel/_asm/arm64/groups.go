package main

// Products with weights in groups of 32 that share a scale: for each group, the sums of two
// vectors of columns at a time stay in registers as integers; then they are scaled and added
// to the sums of the panel, which stay in memory. Twelve instructions of eight SDOT for a
// vector are the least: zero, scvtf, fmul and fmla besides.

// groups writes an asmSums for any number of rows: of bytes with scales of float32, or of codes
// of four bits with those of binary16. Where columns have a byte that is to be added to their weights,
// that is done once, as its product with the sum of the activations.
func (f *file) groups(name string, all []product, fourBits, columns bool) {
	fn, args := f.function(name, "acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, codes, wScale, more *byte, n, zero, ahead, rows int", "")
	acc, q, stride, start, xScale, groupStride, codes, wScale, more, n, zero := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9], args[10]
	count, to, row, starting, scaling := reg(12), reg(13), reg(14), reg(20), reg(21)
	total := func(r, j int) vec { return vec(2*r + j) }                               // of row r, of both vectors
	quads := func(r, i int) vec { return vec(8 + 2*r + i) }                           // of activations, sixteen k each
	const a, starts, scales, zeros, low = vec(16), vec(22), vec(23), vec(24), vec(25) // a is the first of six
	size := 2048
	if fourBits {
		size = 1024
		fn.movib(low, 15)
	}
	if columns {
		fn.dupByte(zeros, zero)
	} else {
		fn.dupR(zeros, zero)
	}
	fn.byRows(args[11], all, func(p product) {
		x := []reg{15, 16, 17, 19}[:p.rows]
		if !fourBits {
			fn.advance(1024, codes) // in the middle of what ldp reaches
		}
		fn.move(start, starting)
		fn.move(xScale, scaling)
		fn.rows(x, q, stride)
		fn.loop(n, 1, func() {
			for r := range p.rows {
				fn.ldpPost(quads(r, 0), quads(r, 1), x[r], 32)
			}
			for _, of := range []struct {
				from reg
				to   vec
			}{{starting, starts}, {scaling, scales}} {
				fn.move(of.from, row)
				for r := range p.rows {
					fn.ldrLane(of.to, r, row, groupStride)
				}
				fn.advance(4, of.from)
			}
			if !columns {
				fn.mul(starts, starts, zeros)
			}
			fn.move(acc, to)
			fn.repeat(8, count, func() {
				if columns { // what is left of zero without the column's own
					fn.ldrDPost(a, more, 8)
					fn.subb(a, zeros, a)
					fn.sxtlb(a, a)
					fn.sxtlh2(a+1, a)
					fn.sxtlh(a, a)
				}
				for r := range p.rows {
					for j := range 2 {
						if columns {
							fn.mulLane(total(r, j), a+vec(j), starts, r)
						} else {
							fn.dup(total(r, j), starts, r)
						}
					}
				}
				add := func(v vec, half, lane int) {
					for r := range p.rows {
						for j := range 2 {
							p.sum(fn, total(r, j), v+vec(j), quads(r, half), lane)
						}
					}
				}
				for k := range size / 256 {
					v := a + vec(2*(k&1))
					if !fourBits {
						fn.ldp(v, v+1, codes, 256*k-1024)
						add(v, k/4, k%4)
						continue
					}
					// The lower halves of bytes are four k, the upper ones those sixteen later.
					fn.ldp(v, v+1, codes, 256*k)
					for j := range vec(2) {
						fn.ushrb(a+4+j, v+j, 4)
						fn.and(v+j, v+j, low)
					}
					add(v, 0, k)
					add(a+4, 1, k)
				}
				if !fourBits {
					fn.ldpPost(a, a+1, wScale, 32)
				} else {
					fn.ldrPost(a+1, wScale, 16)
					fn.fcvtl(a, a+1)
					fn.fcvtl2(a+1, a+1)
				}
				for r := range p.rows {
					fn.ldp(a+4, a+5, to, 256*r)
					for j := range vec(2) {
						v := total(r, int(j))
						fn.scvtf(v, v)
						fn.fmulLane(a+2+j, a+j, scales, r)
						fn.fmla(a+4+j, v, a+2+j)
					}
					fn.stp(a+4, a+5, to, 256*r)
				}
				fn.advance(32, codes, to)
			})
			fn.advance(size-256, codes)
		})
		fn.reload(codes, wScale, more, n)
		fn.advance(256*p.rows, acc)
		fn.advanceRows(p, stride, q)
		fn.advanceRows(p, groupStride, start, xScale)
	})
	fn.ret()
}

// packNibbles writes the packing of codes of four bits: the sixteen bytes of each of n columns, of
// which byte i has codes 2i and 2i+1, become a word of four quads each, 256 bytes apart.
func (f *file) packNibbles(name string) {
	fn, args := f.function(name, "to, from *byte, stride, n int", "")
	to, from, stride, n := args[0], args[1], args[2], args[3]
	const low = vec(16)
	fn.movib(low, 15)
	fn.loop(n, 4, func() {
		for c := range vec(4) {
			even, odd, late := c, 4+c, 8+c
			fn.ld1Post(even, from, stride)
			fn.ushrb(odd, even, 4)
			fn.and(even, even, low)
			fn.zip2(bytes1, late, even, odd)
			fn.zip1(bytes1, even, even, odd)
			fn.slib(even, late, 4)
		}
		for i := range vec(2) {
			fn.trn1(words, 4+i, 2*i, 2*i+1)
			fn.trn2(words, 6+i, 2*i, 2*i+1)
		}
		for i := range vec(2) {
			fn.trn1(doubles, 8+i, 4+2*i, 5+2*i)
			fn.trn2(doubles, 10+i, 4+2*i, 5+2*i)
		}
		for k := range 4 {
			fn.str(vec(8+k), to, 256*k)
		}
		fn.advance(16, to)
	})
	fn.ret()
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
