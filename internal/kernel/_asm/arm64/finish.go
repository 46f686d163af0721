package main

// Finishing of sums, and widening.

// finish writes storeSums or addSums for a full panel: dst gets, or gains, sums and bias.
func (f *file) finish(name string, gains bool) {
	fn, args := f.function(name, "dst, acc, bias *float32, stride, rows int", "")
	dst, acc, bias, stride, rows := args[0], args[1], args[2], args[3], args[4]
	all(16, fn.ldr, 16, bias)
	fn.loop(rows, 1, func() {
		for j := range 16 {
			a := vec(j & 7)
			fn.ldr(a, acc, 16*j)
			fn.fadd(a, a, vec(16+j))
			if gains {
				b := vec(8 + j&7)
				fn.ldr(b, dst, 16*j)
				fn.fadd(a, b, a)
			}
			fn.str(a, dst, 16*j)
		}
		fn.advance(256, acc)
		fn.advance(stride, dst)
	})
	fn.ret()
}

// finishInt8 does so for sums of bytes, which have scales.
func (f *file) finishInt8(name string, gains bool) {
	fn, args := f.function(name, "dst *float32, acc, offset *int32, xScale, scale, bias *float32, stride, rows int", "")
	dst, acc, offset, xScale, scale, bias, stride, rows := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7]
	fn.loop(rows, 1, func() {
		fn.spread(31, xScale)
		fn.advance(4, xScale)
		for j := range 16 {
			a, by, b := vec(j&7), vec(8+j&7), vec(16+j&7)
			fn.ldr(a, acc, 16*j)
			fn.ldr(b, offset, 16*j)
			fn.ldr(by, scale, 16*j)
			fn.add(a, a, b)
			fn.scvtf(a, a)
			fn.fmul(by, by, 31)
			fn.ldr(b, bias, 16*j)
			fn.fmul(a, a, by)
			fn.fadd(a, a, b)
			if gains {
				fn.ldr(b, dst, 16*j)
				fn.fadd(a, b, a)
			}
			fn.str(a, dst, 16*j)
		}
		fn.advance(256, acc)
		fn.advance(stride, dst)
	})
	fn.ret()
}

// widen writes binary16 numbers as float32, 64 at a time.
func (f *file) widen(name string) {
	fn, args := f.function(name, "dst *float32, w *byte, n int", "")
	dst, w, n := args[0], args[1], args[2]
	fn.loop(n, 64, func() {
		for j := range vec(8) {
			h, a := 2*j, 2*j+1
			fn.ldrPost(h, w, 16)
			fn.fcvtl(a, h)
			fn.fcvtl2(h, h)
			fn.strPost(a, dst, 16)
			fn.strPost(h, dst, 16)
		}
	})
	fn.ret()
}
