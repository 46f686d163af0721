package main

// Products with weights in groups of 32 that share a scale. A group's sums are integers; then
// they are scaled and go into the sums of the panel, which stay in memory.

// An expansion says how the weights of a group become bytes.
type expansion int

const (
	expanded expansion = iota // they are bytes already
	coded                     // codes of four bits, by a table
	shifted                   // codes of four bits, plus a byte for each column
)

// groups writes an asmGroups, or an asmDirect whose weights are codes and whose scales are
// binary16.
func (f *file) groups(name, doc string, p product, from expansion) {
	weights, size, scales := "u *byte, wScale *float32, n, zero, ahead int", 2048, 256
	if from != expanded {
		weights, size, scales = "codes, wScale, more *byte, n, zero int", 1024, 128
	}
	fn, args := f.function(name, doc, "acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, "+weights, "")
	acc, q, stride, start, xScale, groupStride, w, wScale, n, zero := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[len(args)-2], args[len(args)-1]
	more := reg(10)
	if from != expanded {
		more = args[8]
	}
	count, left, here, scale, row, offset := reg(11), reg(12), reg(13), reg(14), reg(15), reg(16)
	column, rows, scratch, times := reg(17), []reg{19, 20, 21, 22}[:p.rows], reg(23), reg(24) // zeros of the columns: column
	g := grouped{product: p, fn: fn, from: from}
	switch from {
	case coded:
		fn.ldr(g.table(), more, 0)
		fn.movib(g.low(), 15)
	case shifted:
		fn.movib(g.low(), 15)
		fn.columns(g.table(), row)
	}
	fn.repeat(16/p.vectors, count, func() {
		fn.rows(rows, q, stride)
		fn.move(w, here)
		fn.move(wScale, scale)
		if from == shifted {
			fn.move(more, column)
		}
		fn.op("MOVD ZR, %v", offset)
		fn.repeat(n, left, func() {
			fn.op("ADD %v, %v, %v", offset, start, row)
			fn.eachRow(p.rows, row, groupStride, row, func(r int) {
				fn.op("MOVW (%v), %v", row, scratch)
				fn.op("MULW %v, %v, %v", zero, scratch, scratch)
				fn.dupR(p.acc(r, 0), scratch)
				p.fill(fn, r)
			})
			g.sum32(rows, here, column, times)
			fn.op("ADD %v, %v, %v", offset, xScale, row)
			fn.eachRow(p.rows, row, groupStride, row, func(r int) { fn.spread(p.x(r), row) })
			for j := range p.vectors {
				by, a := g.temp(0), g.temp(1)
				if from == expanded {
					fn.ldr(by, scale, 16*j)
				} else {
					fn.ldrD(by, scale, 8*j)
					fn.fcvtl(by, by)
				}
				for r := range p.rows {
					d := p.acc(r, j)
					fn.scvtf(d, d)
					fn.ldr(a, acc, 256*r+16*j)
					fn.fmul(g.temp(2), by, p.x(r))
					fn.fmla(a, d, g.temp(2))
					fn.str(a, acc, 256*r+16*j)
				}
			}
			fn.advance(size, here)
			fn.advance(scales, scale)
			fn.advance(64, column)
			fn.advance(4, offset)
		})
		fn.advance(16*p.vectors, acc, w)
		fn.advance(scales/16*p.vectors, wScale)
		fn.advance(4*p.vectors, more)
	})
	fn.ret()
}

// columns loads the pattern that gives the zero of a column to its four bytes.
func (f *fn) columns(v vec, scratch reg) {
	f.op("MOVD $%s<>(SB), %v", f.constants("columns", 0, 0x01010101, 0x02020202, 0x03030303), scratch)
	f.ldr(v, scratch, 0)
}

// grouped is a product of one group. It has a second vector of activations for each row, and
// registers of its own before the temporary ones.
type grouped struct {
	product
	fn   *fn
	from expansion
}

func (g grouped) second(r int) vec { return vec(g.rows*g.vectors + g.rows + r) }
func (g grouped) table() vec       { return vec(g.rows*g.vectors + 2*g.rows) } // or the pattern that spreads zeros of columns
func (g grouped) low() vec         { return g.table() + 1 }
func (g grouped) temp(i int) vec   { return g.table() + 2 + vec(i) }

// sum32 adds the 32 products of a group to the sums. w comes back as it was; the activations
// move to the next group.
func (g grouped) sum32(x []reg, w, column, times reg) {
	f := g.fn
	if g.from == expanded {
		f.repeat(4, times, func() {
			for r := range g.rows {
				f.ldrDPost(g.x(r), x[r], 8)
			}
			for quad := range 2 {
				for j := range g.vectors {
					f.ldr(g.temp(j&1), w, 256*quad+16*j)
					for r := range g.rows {
						g.sum(f, g.acc(r, j), g.temp(j&1), g.x(r), quad)
					}
				}
			}
			f.advance(512, w)
		})
		f.op("SUB $2048, %v, %v", w, w)
		return
	}
	// The lower halves of bytes are four k, the upper ones those sixteen later.
	f.repeat(4, times, func() {
		for r := range g.rows {
			f.ldrS(g.second(r), x[r], 16)
			f.ldrSPost(g.x(r), x[r], 4)
		}
		for j := range g.vectors {
			lower, upper, zeros := g.temp(0), g.temp(1), g.temp(2)
			f.ldr(lower, w, 16*j)
			f.ushrb(upper, lower, 4)
			f.and(lower, lower, g.low())
			if g.from == shifted {
				f.ldrS(zeros, column, 4*j)
				f.tbl(zeros, zeros, g.table())
				f.addb(lower, lower, zeros)
				f.addb(upper, upper, zeros)
			} else {
				f.tbl(lower, g.table(), lower)
				f.tbl(upper, g.table(), upper)
			}
			for r := range g.rows {
				g.sum(f, g.acc(r, j), lower, g.x(r), 0)
				g.sum(f, g.acc(r, j), upper, g.second(r), 0)
			}
		}
		f.advance(256, w)
	})
	f.op("SUB $1024, %v, %v", w, w)
	f.advance(16, x...)
}

// group returns a product of one group: with two more registers for each row, and five others.
func group(rows int, sum sumFunc, p product) product {
	p.rows, p.sum = rows, sum
	for p.vectors = 8; rows*p.vectors+2*rows+5 > p.free() || p.plain && rows*p.vectors > 8; p.vectors /= 2 {
	}
	return p
}

// nibbles writes the expansion of groups of codes of four bits, by a table or with zeros of
// columns added.
func (f *file) nibbles(name, doc string, from expansion) {
	fn, args := f.function(name, doc, "dst, codes, "+map[expansion]string{coded: "table", shifted: "zeros"}[from]+" *byte, groups, ahead int", "")
	dst, codes, more, n, left := args[0], args[1], args[2], args[3], reg(4)
	const low, table, spread = vec(0), vec(1), vec(2)
	fn.movib(low, 15)
	if from == coded {
		fn.ldr(table, more, 0)
	} else {
		fn.columns(spread, left)
	}
	fn.loop(n, 1, func() {
		fn.repeat(16, left, func() {
			if from == shifted {
				fn.ldrSPost(table, more, 4)
				fn.tbl(table, table, spread)
			}
			for quad := range 4 {
				a, b := vec(4+2*quad), vec(5+2*quad)
				fn.ldr(a, codes, 256*quad)
				fn.ushrb(b, a, 4)
				fn.and(a, a, low)
				if from == coded {
					fn.tbl(a, table, a)
					fn.tbl(b, table, b)
				} else {
					fn.addb(a, a, table)
					fn.addb(b, b, table)
				}
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

// sixes writes the expansion of groups of codes of six bits.
func (f *file) sixes(name, doc string) {
	fn, args := f.function(name, doc, "dst, codes, table *byte, groups, ahead int", "")
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
