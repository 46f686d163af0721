package kernel

import (
	"encoding/binary"

	"verity/internal/tensor"
)

// packKernels are what packing takes its time for. They move bits and round nothing.
type packKernels struct {
	widenHalf widenHalfFunc
	words     transposeFunc // of four bytes
	halves    transposeFunc // of two
}

// A widenHalfFunc sets dst to the binary16 numbers in src, little-endian.
type widenHalfFunc = func(dst []float32, src []byte)

// A transposeFunc transposes elements of some bytes. For r < rows and k < cols,
//
//	to[k·64+r] = from[r][k]
//
// where row r of from begins r·stride bytes after the first.
type transposeFunc = func(to, from []byte, stride, rows, cols int)

var packingRef = packKernels{widenHalfRef, transposeWordsRef, transposeHalvesRef}

func widenHalfRef(dst []float32, src []byte) {
	tensor.Tensor{DType: tensor.F16, Data: src}.CopyTo(dst, 0) // from a table
}

func transposeWordsRef(to, from []byte, stride, rows, cols int) {
	const size = 4
	for r := range rows {
		for k := range cols {
			copy(to[(k*panel+r)*size:][:size], from[r*stride+k*size:])
		}
	}
}

func transposeHalvesRef(to, from []byte, stride, rows, cols int) {
	const size = 2
	m, n := rows&^3, cols&^3
	for r := 0; r < m && n > 0; r += 4 {
		transpose4x4(to[r*size:], from[r*stride:], stride, n)
	}
	for r := range rows {
		k := n
		if r >= m {
			k = 0
		}
		for ; k < cols; k++ {
			copy(to[(k*panel+r)*size:][:size], from[r*stride+k*size:])
		}
	}
}

// transpose4x4 transposes four rows of elements of two bytes, a multiple of four:
// squares of them in registers.
func transpose4x4(to, from []byte, stride, cols int) {
	const step = 2 * panel
	const even, odd, low = 0x0000ffff0000ffff, 0xffff0000ffff0000, 1<<32 - 1
	le := binary.LittleEndian
	a, b := from[:2*cols], from[stride:][:2*cols]
	c, d := from[2*stride:][:2*cols], from[3*stride:][:2*cols]
	for k := 0; k < 2*cols; k += 8 {
		a, b, c, d := le.Uint64(a[k:]), le.Uint64(b[k:]), le.Uint64(c[k:]), le.Uint64(d[k:])
		ab02, ab13 := a&even|b&even<<16, a>>16&even|b&odd
		cd02, cd13 := c&even|d&even<<16, c>>16&even|d&odd
		p := to[k/2*step:][:3*step+8]
		le.PutUint64(p, ab02&low|cd02<<32)
		le.PutUint64(p[step:], ab13&low|cd13<<32)
		le.PutUint64(p[2*step:], ab02>>32|cd02&^low)
		le.PutUint64(p[3*step:], ab13>>32|cd13&^low)
	}
}
