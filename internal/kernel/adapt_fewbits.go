package kernel

import "unsafe"

// An asmSums adds groups of products for up to most rows, as tileGroupsFunc and
// directGroupsFunc say, the former without more and the latter without ahead. Strides are
// in bytes. n is the number of groups.
type asmSums = func(
	acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int,
	codes, wScale, more *byte, n, zero, ahead, rows int,
)

// sumsByRows calls f for parts of the rows of about equal size.
func sumsByRows(
	f asmSums, most int, acc []float32, x groupedRows, rows int,
	codes, wScale, more *byte, n int, zero int32, ahead int,
) {
	last := (rows - 1) * x.groups
	_, _, _, _ = acc[rows*panel-1], x.q[(rows-1)*x.stride+n*groupSize-1], x.start[last+n-1], x.scale[last+n-1]
	for r, left := 0, (rows+most-1)/most; r < rows; left-- {
		m := (rows - r + left - 1) / left
		f(&acc[r*panel], &x.q[r*x.stride], x.stride, &x.start[r*x.groups], &x.scale[r*x.groups], 4*x.groups,
			codes, wScale, more, n, int(zero), ahead, m)
		r += m
	}
}

func groupsByRows(f asmSums, most int) tileGroupsFunc {
	return func(acc []float32, x groupedRows, rows int, u []byte, wScale []float32, zero int32, ahead int) {
		if n := len(u) / groupBytes; n > 0 && rows > 0 {
			_ = wScale[n*panel-1]
			sumsByRows(f, most, acc, x, rows, &u[0], (*byte)(unsafe.Pointer(&wScale[0])), nil, n, zero, ahead)
		}
	}
}

func directByRows(f asmSums, most int) directGroupsFunc {
	return func(acc []float32, x groupedRows, rows int, codes, scales, more []byte, zero int32) {
		if x.groups > 0 && rows > 0 {
			sumsByRows(f, most, acc, x, rows, &codes[0], &scales[0], &more[0], x.groups, zero, 0)
		}
	}
}

// fewBitsAhead is how many bytes ahead the codes to expand are prefetched.
const fewBitsAhead = 4096

// expandWith returns an expandFunc for groups whose codes have size bytes.
func expandWith(f func(dst, codes, more *byte, groups, ahead int), size int) expandFunc {
	return func(dst, codes, more []byte) {
		if n := len(codes) / size; n > 0 {
			_, _ = dst[n*groupBytes-1], more[0]
			f(&dst[0], &codes[0], &more[0], n, fewBitsAhead)
		}
	}
}

// quantiseGroupsWith returns a quantise function that uses f for whole groups and
// quantiseGroupsRef for the rest.
func quantiseGroupsWith(
	f func(q *byte, scale *float32, start *int32, x *float32, groups int),
) func(q []byte, scale []float32, start []int32, x []float32) {
	return func(q []byte, scale []float32, start []int32, x []float32) {
		n := len(x) / groupSize
		quantiseGroupsRef(q[n*groupSize:], scale[n:], start[n:], x[n*groupSize:])
		if n > 0 {
			_, _, _ = q[n*groupSize-1], scale[n-1], start[n-1]
			f(&q[0], &scale[0], &start[0], &x[0], n)
		}
	}
}
