package main

// Products with one factor by lane. The lanes of a vector are output columns, and a lane of
// the other factor is an activation: a number, or four bytes. The sums of rows×vectors stay
// in registers while both factors go by, so a panel of sixteen vectors takes several walks
// along k, a slice of columns each.

// A product says what a tile multiplies.
type product struct {
	rows, vectors int
	half          bool // weights are binary16
	sum           sumFunc

	// correct says that activations are unsigned where sum takes signed bytes: 128 is taken
	// off each, and 128 times the sum of the weights added in the end.
	correct bool

	plain bool // sum is plain
}

// A sumFunc adds to the four lanes of d their products with lane i of m.
type sumFunc = func(f *fn, d, n, m vec, i int)

func floats(f *fn, d, n, m vec, i int)  { f.fmlaLane(d, n, m, i) }
func signed(f *fn, d, n, m vec, i int)  { f.sdotLane(d, n, m, i) }
func natural(f *fn, d, n, m vec, i int) { f.sudotLane(d, n, m, i) } // those of m are unsigned

// plain is signed for processors without SDOT. Two products of bytes fit into sixteen bits,
// as long as no factor but one is -128. It takes the last three registers.
func plain(f *fn, d, n, m vec, i int) {
	f.dup(29, m, i)
	f.smull(false, 30, n, 29)
	f.smull(true, 31, n, 29)
	f.addph(30, 30, 31)
	f.sadalp(d, 30)
}

// shapes returns products of so many rows, with the widest slices that the registers hold.
func shapes(rows []int, sum sumFunc, p product) (all []product) {
	p.sum = sum
	for _, p.rows = range rows {
		for p.vectors = 16; p.rows*p.vectors+p.rows+p.extra()+2 > p.free() || p.plain && p.rows*p.vectors > 8; p.vectors /= 2 {
		}
		all = append(all, p)
	}
	return all
}

// extra is how many registers hold what correct needs, and free how many there are.
func (p product) extra() int {
	if p.correct {
		return p.vectors + 2
	}
	return 0
}

func (p product) free() int {
	if p.plain {
		return 29
	}
	return 32
}

// Registers of a tile: sums first, then activations, then what is left for weights.
func (p product) acc(r, j int) vec { return vec(r*p.vectors + j) }
func (p product) x(r int) vec      { return vec(p.rows*p.vectors + r) }
func (p product) column(j int) vec { return vec(p.rows*p.vectors + p.rows + j) } // sums of weights, if correct
func (p product) flip() vec        { return p.column(p.vectors) }
func (p product) ones() vec        { return p.column(p.vectors + 1) }
func (p product) temp(i int) vec   { return vec(p.rows*p.vectors + p.rows + p.extra() + i) }

// row loads or stores the sums of row r.
func (p product) row(r int, one func(t vec, n reg, at int), n reg, at int) {
	for j := range p.vectors {
		one(p.acc(r, j), n, at+16*j)
	}
}

// fill sets the sums of row r to what the first of them holds.
func (p product) fill(f *fn, r int) {
	for j := 1; j < p.vectors; j++ {
		f.mov(p.acc(r, j), p.acc(r, 0))
	}
}

// temps returns how many vectors of weights fit: two, four or eight.
func (p product) temps() int {
	n := 2
	for 2*n <= min(p.vectors, 8, p.free()-int(p.temp(0))) {
		n *= 2
	}
	return n
}

// step multiplies the weights at w+at, one k of the slice, by a lane of the activations.
func (p product) step(f *fn, w reg, at, lane int) {
	n := p.temps()
	for j := 0; j < p.vectors; j += n {
		for i := 0; i < n; i += 2 {
			if a, b := p.temp(i), p.temp(i+1); p.half {
				f.ldur(b, w, at+8*(j+i))
				f.fcvtl(a, b)
				f.fcvtl2(b, b)
			} else {
				f.ldur(a, w, at+16*(j+i))
				f.ldur(b, w, at+16*(j+i+1))
			}
		}
		for i := range n {
			if p.correct {
				p.sum(f, p.column(j+i), p.temp(i), p.ones(), 0)
			}
			for r := range p.rows {
				p.sum(f, p.acc(r, j+i), p.temp(i), p.x(r), lane)
			}
		}
	}
}

// lanes is how many steps of k a tile takes at a time, of activations that it loads at once.
// Four spare narrow processors instructions where there are many sums.
func (p product) lanes() int {
	if p.rows >= 4 && !p.plain && !p.correct {
		return 4
	}
	return 2
}

// walk multiplies n steps of k, width bytes apart, for one slice, some at a time. The
// registers x point to rows of activations, which at moves along, and w to weights. If width
// is 0, the distance is in the register far, and n may be odd.
func (p product) walk(f *fn, x []reg, at, w, far, n reg, width int) {
	load := func(one func(vec, reg, reg)) {
		for r := range p.rows {
			one(p.x(r), x[r], at)
			if p.correct {
				f.eor(p.x(r), p.x(r), p.flip())
			}
		}
	}
	f.op("MOVD ZR, %v", at)
	if width > 0 {
		lanes, one := p.lanes(), f.ldrDAt
		if lanes == 4 {
			one = f.ldrAt
		}
		const reach = 256 // of ldur, to both sides
		f.advance(reach, w)
		f.loop(n, lanes, func() {
			load(one)
			for lane, past := 0, -reach; lane < lanes; lane++ {
				p.step(f, w, past, lane)
				if past += width; past == reach || lane == lanes-1 {
					f.advance(past+reach, w)
					past = -reach
				}
			}
			f.advance(4*lanes, at)
		})
		return
	}
	f.steps(n, 2, func() {
		load(f.ldrDAt)
		for lane := range 2 {
			p.step(f, w, 0, lane)
			f.advance(far, w)
		}
		f.advance(8, at)
	}, func() {
		load(f.ldrSAt)
		p.step(f, w, 0, 0)
	})
}

// prepare sets what correct needs.
func (p product) prepare(f *fn, scratch reg) {
	if p.correct {
		f.move(0x80, scratch)
		f.dupByte(p.flip(), scratch)
		f.movib(p.ones(), 1)
	}
}

// restore adds 128 times the sums of weights.
func (p product) restore(f *fn) {
	if !p.correct {
		return
	}
	for j := range p.vectors {
		f.shl(p.column(j), p.column(j), 7)
		for r := range p.rows {
			f.add(p.acc(r, j), p.acc(r, j), p.column(j))
		}
	}
}

// rows sets registers to rows that are stride bytes apart.
func (f *fn) rows(rows []reg, first, stride reg) {
	f.move(first, rows[0])
	for r := 1; r < len(rows); r++ {
		f.op("ADD %v, %v, %v", stride, rows[r-1], rows[r])
	}
}

// tile writes an asmRows for any number of rows: sums of a panel of 64 columns gain products.
// factors are the types of sums and activations.
func (f *file) tile(name, factors string, all []product) {
	fn, args := f.function(name, factors+", stride int, w *byte, n, ahead, pace, rows int", "")
	acc, x, stride, w, n := args[0], args[1], args[2], args[3], args[4]
	count, slice, left, at := reg(6), reg(7), reg(8), reg(17)
	fn.byRows(args[5], all, func(p product) {
		rows := freeRegisters[9 : 9+p.rows]
		p.prepare(fn, count)
		fn.rows(rows, x, stride)
		width := 256
		if p.half {
			width = 128
		}
		fn.repeat(16/p.vectors, count, func() {
			for r := range p.rows {
				p.row(r, fn.ldr, acc, 256*r)
			}
			if p.correct {
				fn.zeros(p.column(0), p.vectors)
			}
			fn.move(w, slice)
			fn.move(n, left)
			p.walk(fn, rows, at, slice, 0, left, width)
			p.restore(fn)
			for r := range p.rows {
				p.row(r, fn.str, acc, 256*r)
			}
			fn.advance(16*p.vectors, acc)
			fn.advance(width/16*p.vectors, w)
		})
		fn.reload(w)
		fn.advance(256*(p.rows-1), acc)
		fn.advanceRows(p, stride, x)
	})
	fn.ret()
}

// attend writes an asmAttend for any number of rows: a tile over panels of 64 columns whose steps
// are any distance apart, with sums that begin at zero unless carry.
func (f *file) attend(name string, all []product) {
	kind, width := "*float32", 4
	if all[0].half {
		kind, width = "*uint16", 2
	}
	fn, args := f.function(name, "panels, depth int, a *float32, aStride int, b "+kind+", bStride, bPanel int, c *float32, cStride int, carry bool, rows int", "")
	panels, depth, a, aStride, b, bStride, bPanel, c, cStride, carry := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9]
	count, slice, left, row, here, to, at, first := reg(11), reg(12), reg(13), reg(14), reg(15), reg(16), reg(22), reg(23)
	fn.byRows(args[10], all, func(p product) {
		rows := []reg{17, 19, 20, 21}[:p.rows]
		fn.rows(rows, a, aStride)
		fn.move(c, first)
		fn.loop(panels, 1, func() {
			fn.move(b, here)
			fn.move(first, to)
			fn.repeat(16/p.vectors, count, func() {
				fresh, ready := fn.label("fresh"), fn.label("ready")
				fn.op("CBZ %v, %s", carry, fresh)
				fn.eachRow(p.rows, to, cStride, row, func(r int) { p.row(r, fn.ldr, row, 0) })
				fn.op("B %s", ready)
				fn.at(fresh)
				fn.zeros(0, p.rows*p.vectors)
				fn.at(ready)
				fn.move(here, slice)
				fn.move(depth, left)
				p.walk(fn, rows, at, slice, bStride, left, 0)
				fn.eachRow(p.rows, to, cStride, row, func(r int) { p.row(r, fn.str, row, 0) })
				fn.advance(16*p.vectors, to)
				fn.advance(4*width*p.vectors, here)
			})
			fn.advance(bPanel, b)
			fn.advance(256, first)
		})
		fn.reload(panels, b)
		fn.advanceRows(p, aStride, a)
		fn.advanceRows(p, cStride, c)
	})
	fn.ret()
}

// score writes an asmScores for any number of rows: scores of queries with whole panels of keys, all
// signed bytes.
func (f *file) score(name string, all []product) {
	fn, args := f.function(name, "dst *float32, dstStride int, q *byte, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels, rows int", "")
	dst, dstStride, q, qStride, start, qScale, k, kScale, quads, panels := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9]
	count, slice, left, row, size, at, to := reg(11), reg(12), reg(13), reg(14), reg(15), reg(25), reg(26)
	fn.op("LSL $8, %v, %v", quads, size) // bytes of a panel
	fn.byRows(args[10], all, func(p product) {
		rows := []reg{16, 17, 19, 20, 21, 22, 23, 24}[:p.rows]
		fn.rows(rows, q, qStride)
		fn.move(dst, to)
		fn.loop(panels, 1, func() {
			fn.repeat(16/p.vectors, count, func() {
				fn.eachRow(p.rows, start, 4, row, func(r int) {
					fn.spread(p.acc(r, 0), row)
					p.fill(fn, r)
				})
				fn.move(k, slice)
				fn.move(quads, left)
				p.walk(fn, rows, at, slice, 0, left, 256)
				// The activations are done with; their registers take the scales of the queries.
				fn.eachRow(p.rows, qScale, 4, row, func(r int) { fn.spread(p.x(r), row) })
				for j := range p.vectors {
					fn.ldr(p.temp(0), kScale, 16*j)
					for r := range p.rows {
						fn.fmul(p.temp(1), p.x(r), p.temp(0))
						fn.scvtf(p.acc(r, j), p.acc(r, j))
						fn.fmul(p.acc(r, j), p.acc(r, j), p.temp(1))
					}
				}
				fn.eachRow(p.rows, to, dstStride, row, func(r int) { p.row(r, fn.str, row, 0) })
				fn.advance(16*p.vectors, to, kScale, k)
			})
			fn.op("SUB $256, %v, %v", k, k)
			fn.advance(size, k)
		})
		fn.reload(panels, k, kScale)
		fn.advanceRows(p, qStride, q)
		fn.advanceRows(p, dstStride, dst)
		fn.advance(4*p.rows, start, qScale)
	})
	fn.ret()
}
