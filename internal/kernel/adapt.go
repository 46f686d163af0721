package kernel

import "unsafe"

// Adapters: assembly has functions for one number of rows, for full panels or for
// multiples of a vector. What is here makes kernels of them for any size, and checks
// the bounds. It is the same for every architecture.

// An asmTile is a tileFunc for one number of rows. n counts k and stride is in
// bytes, and so are ahead and pace: at each k, it prefetches what lies ahead bytes
// behind w, and pace further on each time.
type asmTile = func(acc, x *float32, stride int, w *byte, n, ahead, pace int)

// byRows makes a tileFunc of tiles for 1, 2, … rows.
func byRows[T any](tiles ...asmTile) tileFunc[T] {
	return func(acc, x []float32, stride, rows int, w []T, next hint) {
		n := len(w) / panel
		if n == 0 || rows == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		g := newGroups(rows, len(tiles), panel*int(unsafe.Sizeof(w[0])), n, next)
		for r := 0; r < rows; {
			m := g.next()
			next.fetch(r, m)
			tiles[m-1](&acc[r*panel], &x[r*stride], 4*stride, (*byte)(unsafe.Pointer(&w[0])), n, g.ahead, g.pace)
			r += m
		}
	}
}

// byDepth makes a tileFunc of one that goes over its weights several times: it is
// given so few at a time that they stay in the first-level cache.
func byDepth[T any](tile tileFunc[T]) tileFunc[T] {
	const step = 64
	return func(acc, x []float32, stride, rows int, w []T, next hint) {
		for k, n := 0, len(w)/panel; k < n; k += step {
			tile(acc, x[k:], stride, rows, w[k*panel:min(k+step, n)*panel], next.at(k, n-step, panel*int(unsafe.Sizeof(w[0]))))
		}
	}
}

func widenWith(f func(dst *float32, w *byte, n int)) func(dst []float32, w []uint16) {
	return func(dst []float32, w []uint16) {
		if n := len(w) / panel; n > 0 {
			f(&dst[:len(w)][0], (*byte)(unsafe.Pointer(&w[0])), n)
		}
	}
}

func finishWith(f func(dst, acc, bias *float32, cols, stride, rows int)) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		if n := len(bias); n > 0 && rows > 0 {
			_, _ = dst[(rows-1)*stride+n-1], acc[rows*panel-1]
			f(&dst[0], &acc[0], &bias[0], n, 4*stride, rows)
		}
	}
}

// finishFull makes a finishFunc of f, for full panels, and ref.
func finishFull(f func(dst, acc, bias *float32, stride, rows int), ref finishFunc) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		if len(bias) < panel || rows == 0 {
			ref(dst, acc, bias, stride, rows)
			return
		}
		_, _ = dst[(rows-1)*stride+panel-1], acc[rows*panel-1]
		f(&dst[0], &acc[0], &bias[0], 4*stride, rows)
	}
}
