package frontend

// Dot returns Σ row[i]·x[i] in four partial sums. The products are rounded explicitly,
// so that no compiler can fuse them. x must not be shorter than row.
func Dot(row, x []float32) float32 {
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
