package kernel

// FourDots computes four dot products together. The caller owns it, so that a call allocates
// nothing.
type FourDots struct {
	A, B [4][]float32
	Sums [4]float32
}

// Dots sets Sums to the products of A and B, each in four partial sums. With n =
// len(A[0]),
//
//	p = 0, 0, 0, 0
//	for j := range n &^ 3       { p[j%4] += A[i][j]·B[i][j] }
//	for j := n &^ 3; j < n; j++ { p[0] += A[i][j]·B[i][j] }
//	Sums[i] = (p[0] + p[1]) + (p[2] + p[3])
//
// where each operation rounds. It panics if a vector has fewer elements.
func (q *FourDots) Dots() {
	n := len(q.A[0])
	for i := range q.A {
		_, _ = q.A[i][:n:len(q.A[i])], q.B[i][:n:len(q.B[i])]
	}
	use.vector.dots(&q.Sums, &q.A, &q.B)
}

// Rows sets each element of dst to the product of a row of w with x. It panics if w is too
// short.
func (q *FourDots) Rows(dst, w, x []float32) {
	q.B = [4][]float32{x, x, x, x}
	for r := 0; r < len(dst); r += 4 {
		for i := range q.A {
			q.A[i] = w[min(r+i, len(dst)-1)*len(x):][:len(x)]
		}
		q.Dots()
		copy(dst[r:], q.Sums[:])
	}
}

func dotsRef(dst *[4]float32, a, b *[4][]float32) {
	for i, row := range a {
		dst[i] = dotRef(row[:len(a[0])], b[i])
	}
}

// dotRef rounds the products explicitly, so that no compiler can fuse them.
func dotRef(row, x []float32) float32 {
	x = x[:len(row)]
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(row); i += 4 {
		r, v := row[i:i+4:i+4], x[i:i+4:i+4]
		a += float32(r[0] * v[0])
		b += float32(r[1] * v[1])
		c += float32(r[2] * v[2])
		d += float32(r[3] * v[3])
	}
	for ; i < len(row); i++ {
		a += float32(row[i] * x[i])
	}
	return (a + b) + (c + d)
}
