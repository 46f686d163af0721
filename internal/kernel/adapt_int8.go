package kernel

import (
	"sync"
	"unsafe"
)

// wordDepth is how many k of activations are widened to words at a time, and half of it for
// fewer than manyRows: the weights of as many fit a first-level cache, for some rows
// together with the next ones, which are prefetched.
const wordDepth = 256

// wordRows is the most rows that share the widening of weights.
const wordRows = 12

// A wordBuffer holds activations of some rows as words. In each four the second and the third are
// swapped: even ones come first.
type wordBuffer [wordRows * wordDepth]uint16

var wordBuffers = sync.Pool{New: func() any { return new(wordBuffer) }}

// widenRows sets rows of a buffer to n numbers of rows rows of x, by f and one by one.
func widenRows(f asmWiden, dst []uint16, x []uint8, stride, n, rows int, one func(byte) uint16) {
	whole := n &^ 15
	if whole > 0 {
		f(&dst[0], &x[0], stride, whole, rows)
	}
	for r := 0; r < rows && whole < n; r++ {
		for k := whole; k < n; k++ {
			dst[r*wordDepth+k&^3+k%4*2%4+k%4/2] = one(x[r*stride+k])
		}
	}
}

func unsigned(b byte) uint16 { return uint16(b) }
func signed(b byte) uint16   { return uint16(int8(b)) }

// An asmWiden widens n numbers of each of some rows, for a wordBuffer.
type asmWiden = func(dst *uint16, x *uint8, stride, n, rows int)

// int8ByWords makes a tileInt8Func of a tile for 3 to wordRows rows of words. Fewer rows, which
// are bound by memory, are done by bytes.
func int8ByWords(f asmWiden, bytes tileInt8Func, tile asmRows[int32, uint16]) tileInt8Func {
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
			g := newRowGroups(rows, wordRows, 4*panel, m/4, then)
			for r := 0; r < rows; {
				some := g.next()
				then.prefetch(r, some)
				widenRows(f, words[:], x[r*stride+k:], stride, m, some, unsigned)
				weights := (*byte)(unsafe.Pointer(&w[k*panel]))
				tile(&acc[r*panel], &words[0], 2*wordDepth, weights, m/4, g.ahead, g.pace, some)
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

// finishInt8With returns a finishInt8Func that uses f for full panels and ref for other
// ones.
func finishInt8With(
	f func(dst *float32, acc, offset *int32, xScale, scale, bias *float32, stride, rows int), ref finishInt8Func,
) finishInt8Func {
	return func(dst []float32, acc, offset []int32, xScale, scale, bias []float32, stride, rows int) {
		if len(bias) < panel || rows == 0 {
			ref(dst, acc, offset, xScale, scale, bias, stride, rows)
			return
		}
		_, _, _, _, _ = dst[(rows-1)*stride+panel-1], acc[rows*panel-1], offset[panel-1], xScale[rows-1], scale[panel-1]
		f(&dst[0], &acc[0], &offset[0], &xScale[0], &scale[0], &bias[0], 4*stride, rows)
	}
}
