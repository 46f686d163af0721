package kernel

// An asmGroups is a tileGroupsFunc for a fixed number of rows. Strides are in bytes. n is
// the number of groups.
type asmGroups = func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, u *byte, wScale *float32, n, zero, ahead int)

// groupsByRows returns a tileGroupsFunc that uses functions for 1, 2, … rows.
func groupsByRows(tiles ...asmGroups) tileGroupsFunc {
	return func(acc []float32, x groupedRows, rows int, u []byte, wScale []float32, zero int32, ahead int) {
		n := len(u) / groupBytes
		if n == 0 || rows == 0 {
			return
		}
		last := (rows - 1) * x.groups
		_, _, _, _, _ = acc[rows*panel-1], x.q[(rows-1)*x.stride+n*groupSize-1], x.start[last+n-1], x.scale[last+n-1], wScale[n*panel-1]
		for r, left := 0, (rows+len(tiles)-1)/len(tiles); r < rows; left-- {
			m := (rows - r + left - 1) / left
			tiles[m-1](&acc[r*panel], &x.q[r*x.stride], x.stride, &x.start[r*x.groups], &x.scale[r*x.groups], 4*x.groups, &u[0], &wScale[0], n, int(zero), ahead)
			r += m
		}
	}
}

// An asmDirect is a directGroupsFunc for a fixed number of rows. Strides are in bytes.
type asmDirect = func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, codes, wScale, more *byte, n, zero int)

// directByRows returns a directGroupsFunc that uses functions for 1, 2, … rows.
func directByRows(tiles ...asmDirect) directGroupsFunc {
	return func(acc []float32, x groupedRows, rows int, codes, scales, more []byte, zero int32) {
		n := x.groups
		if n == 0 || rows == 0 {
			return
		}
		last := (rows - 1) * x.groups
		_, _, _, _ = acc[rows*panel-1], x.q[(rows-1)*x.stride+n*groupSize-1], x.start[last+n-1], x.scale[last+n-1]
		for r, left := 0, (rows+len(tiles)-1)/len(tiles); r < rows; left-- {
			m := (rows - r + left - 1) / left
			tiles[m-1](&acc[r*panel], &x.q[r*x.stride], x.stride, &x.start[r*x.groups], &x.scale[r*x.groups], 4*x.groups,
				&codes[0], &scales[0], &more[0], n, int(zero))
			r += m
		}
	}
}

// fewBitsAhead is how many bytes ahead the codes to expand are prefetched.
const fewBitsAhead = 4096

func nibblesWith(f func(dst, codes, table *byte, groups, ahead int)) func(dst, codes []byte, table *[16]byte) {
	return func(dst, codes []byte, table *[16]byte) {
		if n := 2 * len(codes) / groupBytes; n > 0 {
			_ = dst[n*groupBytes-1]
			f(&dst[0], &codes[0], &table[0], n, fewBitsAhead)
		}
	}
}

func nibblesZeroWith(f func(dst, codes, zeros *byte, groups, ahead int)) func(dst, codes, zeros []byte) {
	return func(dst, codes, zeros []byte) {
		if n := 2 * len(codes) / groupBytes; n > 0 {
			_, _ = dst[n*groupBytes-1], zeros[n*panel-1]
			f(&dst[0], &codes[0], &zeros[0], n, fewBitsAhead)
		}
	}
}

func sixesWith(f func(dst, codes, table *byte, groups, ahead int)) func(dst, codes []byte, large *[16]byte) {
	return func(dst, codes []byte, large *[16]byte) {
		if n := 4 * len(codes) / (3 * groupBytes); n > 0 {
			_ = dst[n*groupBytes-1]
			f(&dst[0], &codes[0], &large[0], n, fewBitsAhead)
		}
	}
}

// powersWith returns a powers function that uses f for multiples of 64 and powersRef for
// the rest.
func powersWith(f func(dst *float32, e *byte, n int)) func(dst []float32, e []byte) {
	return func(dst []float32, e []byte) {
		n := len(e) &^ 63
		powersRef(dst[n:], e[n:])
		if n > 0 {
			_ = dst[n-1]
			f(&dst[0], &e[0], n)
		}
	}
}

// quantiseGroupsWith returns a quantise function that uses f for whole groups and
// quantiseGroupsRef for the rest.
func quantiseGroupsWith(f func(q *byte, scale *float32, start *int32, x *float32, groups int)) func(q []byte, scale []float32, start []int32, x []float32) {
	return func(q []byte, scale []float32, start []int32, x []float32) {
		n := len(x) / groupSize
		quantiseGroupsRef(q[n*groupSize:], scale[n:], start[n:], x[n*groupSize:])
		if n > 0 {
			_, _, _ = q[n*groupSize-1], scale[n-1], start[n-1]
			f(&q[0], &scale[0], &start[0], &x[0], n)
		}
	}
}
