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
	params := "acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, "
	if from == expanded {
		params += "u *byte, wScale *float32, n, zero, ahead int"
	} else {
		params += "codes, wScale, more *byte, n, zero int"
	}
	fn, at := f.function(name, doc, params, "")
	acc, q, stride, start, xScale, groupStride, w, wScale, n, zero, more := reg(0), reg(1), reg(2), reg(3), reg(4), reg(5), reg(6), reg(7), reg(8), reg(9), reg(10)
	count, left, here, scale, row, offset := reg(11), reg(12), reg(13), reg(14), reg(15), reg(16)
	column := reg(17) // zeros of the columns
	rows := []reg{19, 20, 21, 22}[:p.rows]
	fn.load(at, "acc", acc, "q", q, "stride", stride, "start", start, "xScale", xScale, "groupStride", groupStride, "wScale", wScale, "n", n, "zero", zero)
	size, scales := 2048, 256
	if from == expanded {
		fn.load(at, "u", w)
	} else {
		fn.load(at, "codes", w, "more", more)
		size, scales = 1024, 128
	}
	g := grouped{product: p, fn: fn, from: from}
	switch from {
	case coded:
		fn.ldr(g.table(), more, 0)
		fn.movib(g.low(), 15)
	case shifted:
		fn.movib(g.low(), 15)
		pattern := f.constants("columns", 0, 0x01010101, 0x02020202, 0x03030303)
		fn.op("MOVD $%s<>(SB), %v", pattern, row)
		fn.ldr(g.table(), row, 0)
	}
	fn.op("MOVD $%d, %v", 16/p.vectors, count)
	fn.loop(count, 1, func() {
		fn.op("MOVD %v, %v", q, rows[0])
		for r := 1; r < p.rows; r++ {
			fn.op("ADD %v, %v, %v", stride, rows[r-1], rows[r])
		}
		fn.op("MOVD %v, %v", w, here)
		fn.op("MOVD %v, %v", wScale, scale)
		fn.op("MOVD %v, %v", more, column)
		fn.op("MOVD ZR, %v", offset)
		fn.op("MOVD %v, %v", n, left)
		fn.loop(left, 1, func() {
			fn.op("ADD %v, %v, %v", offset, start, row)
			for r := range p.rows {
				fn.op("MOVW (%v), R23", row)
				fn.op("MULW %v, R23, R23", zero)
				fn.dupR(p.acc(r, 0), 23)
				for j := 1; j < p.vectors; j++ {
					fn.mov(p.acc(r, j), p.acc(r, 0))
				}
				if r+1 < p.rows {
					fn.op("ADD %v, %v, %v", groupStride, row, row)
				}
			}
			g.sum32(rows, here, column, 24)
			fn.op("ADD %v, %v, %v", offset, xScale, row)
			for r := range p.rows {
				fn.spread(p.x(r), row)
				if r+1 < p.rows {
					fn.op("ADD %v, %v, %v", groupStride, row, row)
				}
			}
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
			fn.op("ADD $%d, %v, %v", size, here, here)
			fn.op("ADD $%d, %v, %v", scales, scale, scale)
			fn.op("ADD $64, %v, %v", column, column)
			fn.op("ADD $4, %v, %v", offset, offset)
		})
		fn.op("ADD $%d, %v, %v", 16*p.vectors, acc, acc)
		fn.op("ADD $%d, %v, %v", 16*p.vectors, w, w)
		fn.op("ADD $%d, %v, %v", scales/16*p.vectors, wScale, wScale)
		fn.op("ADD $%d, %v, %v", 4*p.vectors, more, more)
	})
	fn.ret()
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
		f.op("MOVD $4, %v", times)
		f.loop(times, 1, func() {
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
			f.op("ADD $512, %v, %v", w, w)
		})
		f.op("SUB $2048, %v, %v", w, w)
		return
	}
	// The lower halves of bytes are four k, the upper ones those sixteen later.
	f.op("MOVD $4, %v", times)
	f.loop(times, 1, func() {
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
		f.op("ADD $256, %v, %v", w, w)
	})
	f.op("SUB $1024, %v, %v", w, w)
	for r := range g.rows {
		f.op("ADD $16, %v, %v", x[r], x[r])
	}
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
	fn, at := f.function(name, doc, "dst, codes, "+map[expansion]string{coded: "table", shifted: "zeros"}[from]+" *byte, groups, ahead int", "")
	dst, codes, more, n, left := reg(0), reg(1), reg(2), reg(3), reg(4)
	fn.load(at, "dst", dst, "codes", codes, "groups", n)
	const low, table, spread = vec(0), vec(1), vec(2)
	fn.movib(low, 15)
	if from == coded {
		fn.load(at, "table", more)
		fn.ldr(table, more, 0)
	} else {
		fn.load(at, "zeros", more)
		fn.op("MOVD $%s<>(SB), %v", f.constants("columns", 0, 0x01010101, 0x02020202, 0x03030303), left)
		fn.ldr(spread, left, 0)
	}
	fn.loop(n, 1, func() {
		fn.op("MOVD $16, %v", left)
		fn.loop(left, 1, func() {
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
			fn.op("ADD $16, %v, %v", codes, codes)
			fn.op("ADD $16, %v, %v", dst, dst)
		})
		fn.op("ADD $768, %v, %v", codes, codes)
		fn.op("ADD $1792, %v, %v", dst, dst)
	})
	fn.ret()
}

// sixes writes the expansion of groups of codes of six bits.
func (f *file) sixes(name, doc string) {
	fn, at := f.function(name, doc, "dst, codes, table *byte, groups, ahead int", "")
	dst, codes, table, n, left := reg(0), reg(1), reg(2), reg(3), reg(4)
	fn.load(at, "dst", dst, "codes", codes, "table", table, "groups", n)
	const low, large, sixty, zero = vec(0), vec(1), vec(2), vec(3)
	fn.movib(low, 15)
	fn.ldr(large, table, 0)
	fn.movib(sixty, 60)
	fn.zero(zero)
	fn.loop(n, 1, func() {
		fn.op("MOVD $32, %v", left) // of 512 bytes of pairs of bits, sixteen at a time
		fn.loop(left, 1, func() {
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
			fn.op("ADD $16, %v, %v", codes, codes)
			fn.op("ADD $16, %v, %v", dst, dst)
		})
		fn.op("ADD $1024, %v, %v", codes, codes) // 1536 in all
		fn.op("ADD $1536, %v, %v", dst, dst)
	})
	fn.ret()
}
