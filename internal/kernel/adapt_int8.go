package kernel

import (
	"sync"
	"unsafe"
)

// An asmInt8Tile is a tileInt8Func for a fixed number of rows, with the arguments of an
// asmTile. n is the number of steps of four k.
type asmInt8Tile = func(acc *int32, x *uint8, stride int, w *byte, n, ahead, pace int)

// int8ByRows makes a tileInt8Func of tiles for 1, 2, … rows, as byRows does.
func int8ByRows(tiles ...asmInt8Tile) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		n := len(w) / panel
		if n == 0 || rows == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		g := newGroups(rows, len(tiles), 4*panel, n/4, next)
		for r := 0; r < rows; {
			m := g.next()
			next.fetch(r, m)
			tiles[m-1](&acc[r*panel], &x[r*stride], stride, (*byte)(unsafe.Pointer(&w[0])), n/4, g.ahead, g.pace)
			r += m
		}
	}
}

// int8Step is the most k that a tile gets at a time from int8ByDepth.
const int8Step = 256

// int8ByDepth is byDepth for int8.
func int8ByDepth(tile tileInt8Func) tileInt8Func {
	const step = int8Step
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		next.block = rows > 1 && rows < manyRows
		for k, n := 0, len(w)/panel; k < n; k += step {
			tile(acc, x[k:], stride, rows, w[k*panel:min(k+step, n)*panel], next.at(k, n-step, panel))
		}
	}
}

// wordDepth is how many k of activations are widened to words at a time, and half of it for
// fewer than manyRows: the weights of as many fit a first-level cache, for some rows
// together with the next ones, which are prefetched.
const wordDepth = 256

// A wordBuffer holds activations of some rows as words.
type wordBuffer [few * wordDepth]uint16

var wordBuffers = sync.Pool{New: func() any { return new(wordBuffer) }}

// widen sets rows of the buffer to n numbers of rows rows of x, by f and one by one.
func (b *wordBuffer) widen(f asmWiden, x []uint8, stride, n, rows int, one func(byte) uint16) {
	whole := n &^ 15
	if whole > 0 {
		f(&b[0], &x[0], stride, whole, rows)
	}
	for r := 0; r < rows && whole < n; r++ {
		for k := whole; k < n; k++ {
			b[r*wordDepth+k] = one(x[r*stride+k])
		}
	}
}

// An asmWiden widens n numbers of each of some rows, for a wordBuffer.
type asmWiden = func(dst *uint16, x *uint8, stride, n, rows int)

// An asmWordTile is an asmInt8Tile for activations that are words.
type asmWordTile = func(acc *int32, x *uint16, stride int, w *byte, n, ahead, pace int)

// int8ByWords makes a tileInt8Func of tiles for 3, 4, … rows of words. Fewer rows, which
// are bound by memory, are done by bytes.
func int8ByWords(widen asmWiden, bytes tileInt8Func, tiles ...asmWordTile) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		n := len(w) / panel
		if rows < 3 || n == 0 {
			bytes(acc, x, stride, rows, w, next)
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		words := wordBuffers.Get().(*wordBuffer)
		defer wordBuffers.Put(words)
		step := wordDepth
		if rows < manyRows {
			step /= 2
		}
		for k := 0; k < n; k += step {
			m, then := min(step, n-k), next.at(k, n-step, panel)
			then.block = rows < manyRows
			g := newGroups(rows, 2+len(tiles), 4*panel, m/4, then)
			for r := 0; r < rows; {
				some := g.next()
				then.fetch(r, some)
				words.widen(widen, x[r*stride+k:], stride, m, some, func(b byte) uint16 { return uint16(b) })
				tiles[some-3](&acc[r*panel], &words[0], 2*wordDepth, (*byte)(unsafe.Pointer(&w[k*panel])), m/4, g.ahead, g.pace)
				r += some
			}
		}
	}
}

func maxAbsWith(f func(x *float32, n int) uint32) func(x []float32) uint32 {
	return func(x []float32) uint32 {
		n := len(x) &^ 15
		m := maxAbsRef(x[n:])
		if n > 0 {
			m = max(m, f(&x[0], n))
		}
		return m
	}
}

func quantiseWith(f func(dst *uint8, x *float32, n int, inverse float32)) func(dst []uint8, x []float32, inverse float32) {
	return func(dst []uint8, x []float32, inverse float32) {
		n := len(x) &^ 15
		quantiseRef(dst[n:len(x)], x[n:], inverse)
		if n > 0 {
			f(&dst[0], &x[0], n, inverse)
		}
	}
}

// finishInt8Full returns a finishInt8Func that uses f for full panels and ref for other
// ones.
func finishInt8Full(f func(dst *float32, acc, offset *int32, xScale, scale, bias *float32, stride, rows int), ref finishInt8Func) finishInt8Func {
	return func(dst []float32, acc, offset []int32, xScale, scale, bias []float32, stride, rows int) {
		if len(bias) < panel || rows == 0 {
			ref(dst, acc, offset, xScale, scale, bias, stride, rows)
			return
		}
		_, _, _, _, _ = dst[(rows-1)*stride+panel-1], acc[rows*panel-1], offset[panel-1], xScale[rows-1], scale[panel-1]
		f(&dst[0], &acc[0], &offset[0], &xScale[0], &scale[0], &bias[0], 4*stride, rows)
	}
}
