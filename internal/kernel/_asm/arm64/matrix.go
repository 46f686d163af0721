package main

// Products of bytes by SMMLA, a matrix of 2×8 times another: for twelve rows and eight columns
// at a time, both of which have been paired, so that eight k of two rows, or of two columns,
// lie together. Rows are paired for a panel and weights for a unit of rows; pairing them in the
// loop would take a sixth of its vector instructions.

const matrixRows = 12

// pairRows writes the pairing of rows: for k in steps of eight and r < 6, dst gets eight bytes
// of row 2r and eight of row 2r+1.
func (f *file) pairRows(name string) {
	fn, args := f.function(name, "dst, x *byte, stride, n int", "")
	dst, x, stride, n := args[0], args[1], args[2], args[3]
	left, row, from, to := reg(4), reg(5), reg(6), reg(7)
	fn.repeat(matrixRows/2, left, func() {
		fn.move(dst, to)
		fn.op("ADD %v, %v, %v", stride, x, from)
		fn.repeat(n, row, func() {
			fn.ldrDPost(0, x, 8)
			fn.ldrDPost(1, from, 8)
			fn.strD(0, to, 0)
			fn.strD(1, to, 8)
			fn.advance(8*matrixRows, to)
		})
		// Both rows have been walked: the next pair begins two rows after the first.
		fn.op("SUB %v<<3, %v, %v", n, from, x)
		fn.advance(stride, x)
		fn.advance(16, dst)
	})
	fn.ret()
}

// pairColumns writes the pairing of the weights of a panel, whose four k of a column lie
// together: eight k of columns 0 and 1 become the first sixteen bytes.
func (f *file) pairColumns(name string) {
	fn, args := f.function(name, "dst, w *byte, n int", "")
	dst, w, n := args[0], args[1], args[2]
	fn.loop(n, 1, func() {
		for j := range 16 {
			fn.ldr(0, w, 16*j)
			fn.ldr(1, w, 256+16*j)
			fn.zip1(words, 2, 0, 1)
			fn.zip2(words, 3, 0, 1)
			fn.str(2, dst, 32*j)
			fn.str(3, dst, 32*j+16)
		}
		fn.advance(512, dst, w)
	})
	fn.ret()
}

// matrix writes a tile of paired rows and a panel of paired columns. n counts steps of eight k.
func (f *file) matrix(name string, multiply func(f *fn, d, n, m vec)) {
	fn, args := f.function(name, "acc *int32, x, w *byte, n int", "")
	acc, x, w, n := args[0], args[1], args[2], args[3]
	count, left, from, slice := reg(4), reg(5), reg(6), reg(7)
	const sums = 2 * matrixRows // four pairs of columns for each pair of rows
	fn.repeat(8, count, func() {
		fn.zeros(0, sums)
		fn.move(x, from)
		fn.move(w, slice)
		fn.repeat(n, left, func() {
			all(4, fn.ldr, sums, slice)
			fn.advance(512, slice)
			for r := range matrixRows / 2 {
				pair := vec(sums + 4 + r%4)
				fn.ldr(pair, from, 16*r)
				for j := range 4 {
					multiply(fn, vec(4*r+j), pair, vec(sums+j))
				}
			}
			fn.advance(8*matrixRows, from)
		})
		for r := range matrixRows / 2 {
			for half := range 2 {
				a, b, place := vec(4*r+2*half), vec(4*r+2*half+1), 512*r+16*half
				fn.ldr(24, acc, place)
				fn.ldr(25, acc, place+256)
				fn.zip1(doubles, 26, a, b)
				fn.zip2(doubles, 27, a, b)
				fn.add(24, 24, 26)
				fn.add(25, 25, 27)
				fn.str(24, acc, place)
				fn.str(25, acc, place+256)
			}
		}
		fn.advance(32, acc)
		fn.advance(64, w)
	})
	fn.ret()
}
