package kernel

import (
	"sync"
	"unsafe"
)

// Adapters turn assembly into kernels. An assembly function takes a fixed number of rows,
// full panels, or multiples of a vector. Its adapter takes any size and checks the
// bounds. Adapters are the same on every architecture.

// A rowsFunc adds products to the sums of one panel: see tileFunc and tileInt8Func.
type rowsFunc[S, X, W any] = func(acc []S, x []X, stride, rows int, w []W, next hint)

// An asmRows is a tileFunc or a tileInt8Func for as many rows as it has bodies for. n
// is the number of steps along k. stride, ahead and pace are in bytes. At step k, the tile
// prefetches w+ahead+k·pace.
type asmRows[S, X any] = func(acc *S, x *X, stride int, w *byte, n, ahead, pace, rows int)

// byRows returns a tileFunc that uses tile for up to most rows at a time, in steps of so
// many k.
func byRows[W, S, X any](tile asmRows[S, X], most, step int) rowsFunc[S, X, W] {
	return func(acc []S, x []X, stride, rows int, w []W, next hint) {
		n := len(w) / panel
		if n == 0 || rows == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		g := newRowGroups(rows, most, step*panel*int(unsafe.Sizeof(w[0])), n/step, next)
		for r := 0; r < rows; {
			m := g.next()
			next.prefetch(r, m)
			tile(&acc[r*panel], &x[r*stride], stride*int(unsafe.Sizeof(x[0])), (*byte)(unsafe.Pointer(&w[0])),
				n/step, g.ahead, g.pace, m)
			r += m
		}
	}
}

// byDepth wraps a tileFunc that reads its weights several times. It passes step k of them
// at a time, so few that they stay in the first-level cache. Up to most rows, but not one
// alone, prefetch the next.
func byDepth[S, X, W any](step, most int, tile rowsFunc[S, X, W]) rowsFunc[S, X, W] {
	return func(acc []S, x []X, stride, rows int, w []W, next hint) {
		next.block = rows > 1 && rows <= most
		for k, n := 0, len(w)/panel; k < n; k += step {
			width := panel * int(unsafe.Sizeof(w[0]))
			tile(acc, x[k:], stride, rows, w[k*panel:min(k+step, n)*panel], next.at(k, n-step, width))
		}
	}
}

// floatStep and int8Step are the k that byDepth passes at a time.
const (
	floatStep = 64
	int8Step  = 256
)

// int8ByDepth is byDepth for bytes.
func int8ByDepth(tile tileInt8Func) tileInt8Func { return byDepth(int8Step, manyRows-1, tile) }

// widenHalfWith returns a widenHalfFunc that uses f for multiples of panel.
func widenHalfWith(f func(dst *float32, src *byte, n int)) widenHalfFunc {
	return func(dst []float32, src []byte) {
		n := len(dst) &^ (panel - 1)
		widenHalfRef(dst[n:], src[2*n:])
		if n > 0 {
			_ = src[2*n-1]
			f(&dst[0], &src[0], n)
		}
	}
}

// widenWith returns a function of tileKernels that uses f.
func widenWith(f func(dst *float32, src *byte, n int)) func(dst []float32, w []uint16) {
	return func(dst []float32, w []uint16) {
		if n := len(w); n > 0 {
			f(&dst[:n][0], (*byte)(unsafe.Pointer(&w[0])), n)
		}
	}
}

// finishWith returns a finishFunc that uses f for full panels and ref for other ones.
func finishWith(f func(dst, acc, bias *float32, stride, rows int), ref finishFunc) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		if len(bias) < panel || rows == 0 {
			ref(dst, acc, bias, stride, rows)
			return
		}
		_, _ = dst[(rows-1)*stride+panel-1], acc[rows*panel-1]
		f(&dst[0], &acc[0], &bias[0], 4*stride, rows)
	}
}

// inSquares transposes rows of from, stride apart, to columns: by f multiples of square rows and
// of eight columns, by rest the others. An element takes size places.
func inSquares[D, S any](
	to []D, from []S, stride, rows, cols, square, size int,
	f func(to *D, from *S, rows, cols int), rest func(to []D, from []S, rows, cols int),
) {
	m, n := rows&^(square-1), cols&^7
	if m > 0 && n > 0 {
		_, _ = from[(m-1)*stride+size*n-1], to[size*((n-1)*panel+m)-1]
		f(&to[0], &from[0], m, n)
	}
	if m > 0 && n < cols {
		rest(to[size*n*panel:], from[size*n:], m, cols-n)
	}
	if m < rows && cols > 0 {
		rest(to[size*m:], from[m*stride:], rows-m, cols)
	}
}

// transposeBytesWith returns a transposeFunc for elements of size bytes that uses f for multiples of
// square rows and of eight columns.
func transposeBytesWith(f func(to, from *byte, stride, rows, cols int), square, size int, ref transposeFunc) transposeFunc {
	return func(to, from []byte, stride, rows, cols int) {
		inSquares(to, from, stride, rows, cols, square, size,
			func(to, from *byte, rows, cols int) { f(to, from, stride, rows, cols) },
			func(to, from []byte, rows, cols int) { ref(to, from, stride, rows, cols) })
	}
}

// byStep returns a function that uses f for a multiple of step, a power of two, and ref for
// the rest.
func byStep[D, S any](step int, f func(dst *D, x *S, n int), ref func(dst []D, x []S)) func(dst []D, x []S) {
	return func(dst []D, x []S) {
		n := len(x) &^ (step - 1)
		ref(dst[n:], x[n:])
		if n > 0 {
			f(&dst[:n][0], &x[0], n)
		}
	}
}

// byNumber is byStep for an operation that has a number.
func byNumber[D any](
	step int, f func(dst *D, x *float32, n int, by float32), ref func(dst []D, x []float32, by float32),
) func(dst []D, x []float32, by float32) {
	return func(dst []D, x []float32, by float32) {
		n := len(x) &^ (step - 1)
		ref(dst[n:], x[n:], by)
		if n > 0 {
			f(&dst[:n][0], &x[0], n, by)
		}
	}
}

// transposeNarrowWith returns a transposeNarrowFunc that uses f for multiples of eight rows and columns,
// and rest for the others.
func transposeNarrowWith(
	f func(dst *uint16, x *float32, stride, rows, cols int), rest transposeNarrowFunc,
) transposeNarrowFunc {
	return func(dst []uint16, x []float32, stride, rows, cols int) {
		if rows == 0 || cols == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+cols-1], dst[(cols-1)*panelKeys+rows-1]
		inSquares(dst, x, stride, rows, cols, 8, 1,
			func(dst *uint16, x *float32, rows, cols int) { f(dst, x, 4*stride, rows, cols) },
			func(dst []uint16, x []float32, rows, cols int) { rest(dst, x, stride, rows, cols) })
	}
}

// halfRows hold a row of a tile, rounded.
var halfRows = sync.Pool{New: func() any { return new([panelKeys]uint16) }}

// transposeNarrowByRows returns a transposeNarrowFunc that uses narrow, for tiles too small for
// transposeNarrowWith: a single token has one row.
func transposeNarrowByRows(narrow func(dst []uint16, x []float32)) transposeNarrowFunc {
	return func(dst []uint16, x []float32, stride, rows, cols int) {
		half := halfRows.Get().(*[panelKeys]uint16)
		defer halfRows.Put(half)
		for r := range rows {
			for c := 0; c < cols; c += panelKeys {
				part := half[:min(panelKeys, cols-c)]
				narrow(part, x[r*stride+c:][:len(part)])
				for i, h := range part {
					dst[(c+i)*panelKeys+r] = h
				}
			}
		}
	}
}
