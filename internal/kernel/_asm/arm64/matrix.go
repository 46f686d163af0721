package main

// Products of bytes by SMMLA, a matrix of 2×8 times another: for sixteen rows at a time, whose
// bytes lie in pairs of rows, so that four columns of weights are put in order once for eight
// multiplications each.

// pairs writes the pairing of sixteen rows: for k in steps of eight and r < 8, dst gets eight
// bytes of row 2r and eight of row 2r+1.
func (f *file) pairs(name, doc string) {
	fn, at := f.function(name, doc, "dst, x *byte, stride, n int", "")
	dst, x, stride, n := reg(0), reg(1), reg(2), reg(3)
	left, row, from, to := reg(4), reg(5), reg(6), reg(7)
	fn.load(at, "dst", dst, "x", x, "stride", stride, "n", n)
	fn.op("MOVD $8, %v", left)
	fn.loop(left, 1, func() {
		fn.op("MOVD %v, %v", dst, to)
		fn.op("ADD %v, %v, %v", stride, x, from)
		fn.op("MOVD %v, %v", n, row)
		fn.loop(row, 1, func() {
			fn.ldrDPost(0, x, 8)
			fn.ldrDPost(1, from, 8)
			fn.strD(0, to, 0)
			fn.strD(1, to, 8)
			fn.op("ADD $128, %v, %v", to, to)
		})
		// Both rows have been walked: the next pair begins two rows after the first.
		fn.op("SUB %v<<3, %v, %v", n, from, x)
		fn.op("ADD %v, %v, %v", stride, x, x)
		fn.op("ADD $16, %v, %v", dst, dst)
	})
	fn.ret()
}

// matrix writes a tile of sixteen paired rows and a panel of columns. n counts steps of eight k.
func (f *file) matrix(name, doc string, multiply func(f *fn, d, n, m vec)) {
	fn, at := f.function(name, doc, "acc *int32, x, w *byte, n int", "")
	acc, x, w, n := reg(0), reg(1), reg(2), reg(3)
	count, left, from, slice := reg(4), reg(5), reg(6), reg(7)
	fn.load(at, "acc", acc, "x", x, "w", w, "n", n)
	fn.op("MOVD $16, %v", count)
	fn.loop(count, 1, func() {
		for i := range 16 {
			fn.zero(vec(i))
		}
		fn.op("MOVD %v, %v", x, from)
		fn.op("MOVD %v, %v", w, slice)
		fn.op("MOVD %v, %v", n, left)
		fn.loop(left, 1, func() {
			fn.ldr(24, slice, 0)
			fn.ldr(25, slice, 256)
			fn.op("ADD $512, %v, %v", slice, slice)
			for r := range 8 {
				fn.ldr(vec(16+r), from, 16*r)
			}
			fn.op("ADD $128, %v, %v", from, from)
			fn.zip1(words, 26, 24, 25)
			fn.zip2(words, 27, 24, 25)
			for r := range 8 {
				multiply(fn, vec(2*r), vec(16+r), 26)
				multiply(fn, vec(2*r+1), vec(16+r), 27)
			}
		})
		for r := range 8 {
			fn.ldr(24, acc, 512*r)
			fn.ldr(25, acc, 512*r+256)
			fn.zip1(doubles, 26, vec(2*r), vec(2*r+1))
			fn.zip2(doubles, 27, vec(2*r), vec(2*r+1))
			fn.add(24, 24, 26)
			fn.add(25, 25, 27)
			fn.str(24, acc, 512*r)
			fn.str(25, acc, 512*r+256)
		}
		fn.op("ADD $16, %v, %v", acc, acc)
		fn.op("ADD $16, %v, %v", w, w)
	})
	fn.ret()
}
