package kernel

func narrowWith(f func(dst *uint16, x *float32, n int)) func(dst []uint16, x []float32) {
	return func(dst []uint16, x []float32) {
		dst = dst[:len(x)]
		n := len(x) &^ 7
		if n > 0 {
			f(&dst[0], &x[0], n)
		}
		narrowRef(dst[n:], x[n:])
	}
}

// turnWith returns a turnHalfFunc that uses f for multiples of eight rows and columns, and
// rest for the others.
func turnWith(f func(dst *uint16, x *float32, stride, rows, cols int), rest turnHalfFunc) turnHalfFunc {
	return func(dst []uint16, x []float32, stride, rows, cols int) {
		if rows == 0 || cols == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+cols-1], dst[(cols-1)*panelKeys+rows-1]
		m, n := rows&^7, cols&^7
		if m > 0 && n > 0 {
			f(&dst[0], &x[0], 4*stride, m, n)
		}
		if m > 0 && n < cols {
			rest(dst[n*panelKeys:], x[n:], stride, m, cols-n)
		}
		if m < rows {
			rest(dst[m:], x[m*stride:], stride, rows-m, cols)
		}
	}
}

// turnByRows returns a turnHalfFunc that uses scatter, for tiles too small for turnWith: a
// single token has one row.
func turnByRows(scatter func(dst []uint16, step int, x []float32)) turnHalfFunc {
	return func(dst []uint16, x []float32, stride, rows, cols int) {
		for r := range rows {
			scatter(dst[r:(cols-1)*panelKeys+r+1], panelKeys, x[r*stride:][:cols])
		}
	}
}
