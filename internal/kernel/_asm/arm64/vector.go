package main

import (
	"math"
	"slices"
	"strings"

	c "verity/internal/kernel/_asm/constants"
)

// Loops over vectors, in steps of sixteen elements: four registers, lane l of register i being
// element 4i+l. What is left is done by "ref" in Go, and so are the last additions of sums,
// which are handed over as sixteen partial ones.

// bits returns the bits of float32 constants.
func bits(values ...float32) (b []uint32) {
	for _, v := range values {
		b = append(b, math.Float32bits(v))
	}
	return b
}

// broadcast loads constants into registers from first on, each into all lanes.
func (f *fn) broadcast(symbol string, n int, first vec, scratch reg) {
	f.op("MOVD $%s<>(SB), %v", symbol, scratch)
	for i := range n {
		f.spread(first+vec(i), scratch)
		if i+1 < n {
			f.advance(4, scratch)
		}
	}
}

var (
	expConsts  = bits(slices.Concat([]float32{c.Log2e, c.RoundShift, -c.Ln2Hi, -c.Ln2Lo, c.ExpMin, c.ExpMax}, c.Exp, []float32{1})...)
	geluConsts = bits(c.Gelu...)
	logConsts  = append(bits(slices.Concat(c.Log, []float32{-0.5, c.Ln2Lo, c.Ln2Hi, c.Log10e, c.LeastNormal, 1})...), c.SqrtHalf, c.MantissaBits)
)

// Registers of exp: its constants are 16 … 27, and 28 is 1023 in both halves.
const (
	expLog2e vec = 16 + iota
	expShift
	expHi
	expLo
	expMin
	expMax
	expC6
	expOne  vec = 27
	expBias vec = 28
)

func (f *fn) expConstants(scratch reg) {
	f.broadcast(f.constants("expConsts", expConsts...), 12, expLog2e, scratch)
	f.move(1023, scratch)
	f.dupDouble(expBias, scratch)
}

// exp replaces x by e^x, or by e^(x+low) if low is a register. t, u and n are scratch.
func (f *fn) exp(x, low, t, u, n vec) {
	f.fcmgt(t, expMin, x)
	f.bit(x, expMin, t)
	f.fcmgt(t, x, expMax)
	f.bit(x, expMax, t)
	f.mov(n, expShift)
	f.fmla(n, x, expLog2e)
	f.fsub(n, n, expShift)
	f.fmla(x, n, expHi) // r
	f.fmla(x, n, expLo)
	if low >= 0 {
		f.fadd(x, x, low)
	}
	p := f.polynomial(x, t, u, expC6, expC6+1, expC6+2, expC6+3, expC6+4, expOne, expOne)
	// p·2ⁿ in float64 is exact, so that only its conversion rounds.
	f.fcvtzs(n, n)
	f.wide(x, p)
	f.wide2(t, p)
	f.sxtl(p, n)
	f.sxtl2(n, n)
	f.addd(p, p, expBias)
	f.addd(n, n, expBias)
	f.shld(p, p, 52)
	f.shld(n, n, 52)
	f.fmuld(x, x, p)
	f.fmuld(n, t, n)
	f.slim(x, x)
	f.slim2(x, n)
}

// expSum writes the sums of exponentials, which dst gets. If scaled, it gets them times scale, and
// the result is the bits of the largest.
func (f *file) expSum(name string, scaled bool) {
	params, result := "dst, x *float32, n int, m float32, p *partials", ""
	if scaled {
		params, result = "dst, x, scale *float32, n int, m float32, p *partials", "uint32"
	}
	fn, args := f.function(name, params, result)
	dst, x, rest, scratch := args[0], args[1], args[len(args)-3:], reg(6)
	n, p := rest[0], rest[2]
	const m, most = vec(29), vec(30)
	fn.dupR(m, rest[1])
	fn.zero(most)
	fn.expConstants(scratch)
	all(4, fn.ldr, 12, p)
	fn.loop(n, 16, func() {
		for i := range 4 {
			e := vec(i)
			fn.ldrPost(e, x, 16)
			fn.fsub(e, e, m)
			fn.exp(e, -1, 4, 5, 6)
			fn.fadd(vec(12+i), vec(12+i), e)
			if scaled {
				fn.ldrPost(7, args[2], 16)
				fn.fmul(e, e, 7)
				fn.fabs(7, e)
				fn.umax(most, most, 7)
			}
			fn.strPost(e, dst, 16)
		}
	})
	all(4, fn.str, 12, p)
	if scaled {
		fn.umaxv(most, most)
		fn.umov(scratch, most, 0)
	}
	fn.ret(scratch)
}

func (f *file) gelu(name string) {
	fn, args := f.function(name, "x *float32, n int", "")
	x, n, scratch, table := args[0], args[1], reg(2), reg(3)
	fn.expConstants(scratch)
	symbol := f.constants("geluConsts", geluConsts...)
	few := f.constants("geluFew", bits(3, -0.5, c.GeluMax)...)
	fn.broadcast(few, 3, 29, scratch) // 29: 3, 30: -½, 31: geluMax
	fn.loop(n, 4, func() {
		v, t, g, s, d := vec(0), vec(1), vec(2), vec(3), vec(4)
		fn.ldr(v, x, 0)
		fn.fabs(t, v)
		fn.fadd(s, t, 29)
		fn.fdiv(s, t, s) // v of the formula
		fn.op("MOVD $%s<>(SB), %v", symbol, table)
		fn.spread(g, table)
		other := vec(5)
		for range 9 {
			fn.advance(4, table)
			fn.spread(other, table)
			fn.fmla(other, g, s)
			g, other = other, g
		}
		fn.fmul(s, t, t)
		fn.fneg(d, s)
		fn.fmla(d, t, t)
		fn.fmul(s, s, 30)
		fn.fmul(d, d, 30)
		fn.mov(10, g)
		fn.exp(s, d, 6, 7, 8)
		fn.fmul(s, s, 10)  // q
		fn.fcmge(t, t, 31) // q = 0 from geluMax on
		fn.bic(s, s, t)
		fn.fsub(6, expOne, s)
		fn.zero(7)
		fn.fcmgt(8, 7, v) // x < 0
		fn.bsl(8, s, 6)
		fn.fmul(v, v, 8)
		fn.strPost(v, x, 16)
	})
	fn.ret()
}

// maxAbs returns the bits of the largest magnitude.
func (f *file) maxAbs(name string) {
	fn, args := f.function(name, "x *float32, n int", "uint32")
	x, n := args[0], args[1]
	fn.zeros(4, 4)
	fn.loop(n, 16, func() {
		for i := range 4 {
			fn.ldrPost(vec(i), x, 16)
			fn.fabs(vec(i), vec(i))
			fn.umax(vec(4+i), vec(4+i), vec(i))
		}
	})
	fn.umax(4, 4, 5)
	fn.umax(6, 6, 7)
	fn.umax(4, 4, 6)
	fn.umaxv(4, 4)
	fn.umov(x, 4, 0)
	fn.ret(x)
}

// roundBytes rounds to bytes, and returns the sum of the numbers. They may be signed, or not.
func (f *file) roundBytes(name string) {
	fn, args := f.function(name, "dst *byte, x *float32, n int, inverse float32", "int32")
	dst, x, n, scratch := args[0], args[1], args[2], args[3]
	fn.dupR(16, scratch)
	fn.broadcast(f.constants("magic", bits(0x1.8p23)...), 1, 17, scratch)
	fn.zero(18)
	fn.loop(n, 16, func() {
		for i := range 4 {
			v := vec(i)
			fn.ldrPost(v, x, 16)
			fn.fmul(v, v, 16)
			fn.fadd(v, v, 17)
			fn.sub(4+v, v, 17) // the integer
			fn.add(18, 18, 4+v)
		}
		fn.uzp1(halves, 0, 0, 1)
		fn.uzp1(halves, 2, 2, 3)
		fn.uzp1(bytes1, 0, 0, 2)
		fn.strPost(0, dst, 16)
	})
	fn.addv(18, 18)
	fn.umov(scratch, 18, 0)
	fn.ret(scratch)
}

// interleaveBy4 interleaves four rows of 64 bytes.
func (f *file) interleaveBy4(name string) {
	fn, args := f.function(name, "dst, x *byte", "")
	dst, x := args[0], args[1]
	for c := range 4 {
		for r := range 4 {
			fn.ldr(vec(r), x, 64*r+16*c)
		}
		fn.zip1(bytes1, 4, 0, 1)
		fn.zip2(bytes1, 5, 0, 1)
		fn.zip1(bytes1, 6, 2, 3)
		fn.zip2(bytes1, 7, 2, 3)
		for i, pair := range [2]vec{4, 5} {
			fn.zip1(halves, 16, pair, pair+2)
			fn.zip2(halves, 17, pair, pair+2)
			fn.str(16, dst, 64*c+32*i)
			fn.str(17, dst, 64*c+32*i+16)
		}
	}
	fn.ret()
}

// transpose transposes tiles of four by four, as float32 or binary16.
func (f *file) transpose(name string, half bool) {
	kind, width := "*float32", 4
	if half {
		kind, width = "*uint16", 2
	}
	fn, args := f.function(name, "dst "+kind+", x *float32, stride, rows, cols int", "")
	dst, x, stride, rows, cols := args[0], args[1], args[2], args[3], args[4]
	left, four, to := reg(5), []reg{6, 7, 8, 9}, reg(10)
	fn.loop(rows, 4, func() {
		fn.rows(four, x, stride)
		fn.op("ADD %v, %v, %v", stride, four[3], x)
		fn.move(dst, to)
		fn.move(cols, left)
		fn.loop(left, 4, func() {
			for i, p := range four {
				fn.ldrPost(vec(i), p, 16)
			}
			fn.trn1(words, 4, 0, 1)
			fn.trn2(words, 5, 0, 1)
			fn.trn1(words, 6, 2, 3)
			fn.trn2(words, 7, 2, 3)
			fn.trn1(doubles, 0, 4, 6)
			fn.trn1(doubles, 1, 5, 7)
			fn.trn2(doubles, 2, 4, 6)
			fn.trn2(doubles, 3, 5, 7)
			for i := range 4 {
				if half {
					fn.fcvtn(vec(i), vec(i))
					fn.strD(vec(i), to, 128*i)
				} else {
					fn.str(vec(i), to, 256*i)
				}
			}
			fn.advance(4*64*width, to)
		})
		fn.advance(4*width, dst)
	})
	fn.ret()
}

// narrow rounds to binary16, four at a time.
func (f *file) narrow(name string) {
	fn, args := f.function(name, "dst *uint16, x *float32, n int", "")
	dst, x, n := args[0], args[1], args[2]
	fn.loop(n, 4, func() {
		fn.ldrPost(0, x, 16)
		fn.fcvtn(0, 0)
		fn.strDPost(0, dst, 8)
	})
	fn.ret()
}

// dots sums products in four partial sums each, without fusing.
func (f *file) dots(name string) {
	fn, args := f.function(name, "sums *partials, a, b *[4][]float32, n int", "")
	sums, a, b, n := args[0], args[1], args[2], args[3]
	p, q := []reg{4, 5, 6, 7}, []reg{8, 9, 10, 11}
	for i := range 4 {
		fn.op("MOVD %d(%v), %v", 24*i, a, p[i])
		fn.op("MOVD %d(%v), %v", 24*i, b, q[i])
		fn.zero(vec(i))
	}
	fn.loop(n, 4, func() {
		for i := range 4 {
			fn.ldrPost(4, p[i], 16)
			fn.ldrPost(5, q[i], 16)
			fn.fmul(4, 4, 5)
			fn.fadd(vec(i), vec(i), 4)
		}
	})
	all(4, fn.str, 0, sums)
	fn.ret()
}

// each writes a loop over n elements, four registers at a time: dst[i] from x[i] and other
// vectors, by body, which gets the register of x[i] and leaves the result there. Scalars are
// float32 arguments, in registers from 16 on.
func (f *file) each(name string, vectors, scalars []string, body func(fn *fn, v vec, others []vec)) {
	params := strings.Join(vectors, ", ") + " *float32, n int"
	for _, s := range scalars {
		params += ", " + s + " float32"
	}
	fn, args := f.function(name, params, "")
	at, n := args[:len(vectors)], args[len(vectors)]
	for i := range scalars {
		fn.dupR(vec(16+i), args[len(vectors)+1+i])
	}
	fn.loop(n, 4, func() {
		var others []vec
		for i := range vectors {
			if i == 0 && len(vectors) > 1 && vectors[0] == "to" {
				continue // only written
			}
			fn.ldr(vec(i), at[i], 0)
			others = append(others, vec(i))
		}
		body(fn, others[0], others[1:])
		fn.strPost(others[0], at[0], 16)
		fn.advance(16, at[1:]...)
	})
	fn.ret()
}

// partials writes what takes numbers, minus the bits of a float32 if that has a name, into
// sixteen partial results.
func (f *file) partials(name, minus string, take func(fn *fn, p, v vec)) {
	params := "p *partials, x *float32, n int"
	if minus != "" {
		params += ", " + minus + " float32"
	}
	fn, args := f.function(name, params, "")
	p, x, n := args[0], args[1], args[2]
	if minus != "" {
		fn.dupR(16, args[3])
	}
	all(4, fn.ldr, 4, p)
	fn.loop(n, 16, func() {
		for i := range 4 {
			fn.ldrPost(vec(i), x, 16)
			if minus != "" {
				fn.fsub(vec(i), vec(i), 16)
			}
			take(fn, vec(4+i), vec(i))
		}
	})
	all(4, fn.str, 4, p)
	fn.ret()
}

// log10 replaces x, which is not NaN, by its decimal logarithm, at least floor.
func (f *file) log10(name string) {
	fn, args := f.function(name, "dst, x *float32, n int, floor float32", "")
	dst, x, n, scratch := args[0], args[1], args[2], args[3]
	fn.dupR(8, scratch)
	const c7, half, lo, hi, log10e, least, one, root, fraction = vec(16), vec(24), vec(25), vec(26), vec(27), vec(28), vec(29), vec(30), vec(31)
	fn.broadcast(f.constants("logConsts", logConsts...), 16, c7, scratch)
	fn.loop(n, 4, func() {
		v, e, p, w, t := vec(0), vec(1), vec(2), vec(3), vec(4)
		fn.ldrPost(v, x, 16)
		fn.fcmgt(t, least, v)
		fn.bit(v, least, t)
		fn.sub(v, v, root)
		fn.sshr(e, v, 23)
		fn.scvtf(e, e)
		fn.and(v, v, fraction)
		fn.add(v, v, root)
		fn.fsub(v, v, one) // f
		p = fn.polynomial(v, p, t, c7, c7+1, c7+2, c7+3, c7+4, c7+5, c7+6, c7+7, half)
		fn.fmul(w, v, v)
		fn.fmul(w, w, p)
		fn.fmla(w, e, lo)
		fn.fadd(w, w, v)
		fn.fmla(w, e, hi)
		fn.fmul(w, w, log10e)
		fn.fcmgt(t, w, 8)
		fn.bsl(t, w, 8)
		fn.strPost(t, dst, 16)
	})
	fn.ret()
}
