package kernel

import "unsafe"

// vectorBytes is the size of the largest vector: no load of one that starts on a multiple
// crosses a cache line.
const vectorBytes = 64

// aligned returns n zero bytes that start on a multiple of vectorBytes.
func aligned(n int) []byte {
	buf := make([]byte, n+vectorBytes-1) // fresh pages are not cleared again, nor take memory until they are written to
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & (vectorBytes - 1)
	buf = buf[skip : skip+n : skip+n]
	preferHugePages(unsafe.Pointer(unsafe.SliceData(buf)), n)
	return buf
}

// NewFloats returns n zeros, in large pages if there are many.
func NewFloats(n int) []float32 { return view[float32](aligned(4 * n)) }

func bytesOf[E float32 | int32 | uint16](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(E(0))))
}

// view returns data as elements of another type, in the byte order of this
// machine. The data must be aligned for it, and T hold no pointers, see Resize.
func view[T any](data []byte) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(v)))
}

// Resize returns s with length n, its content undefined, in the same memory if that is large enough. T must hold no
// pointers: new memory is of bytes, in which the garbage collector looks for none.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		var v T // aligned, for view
		return view[T](aligned(n * int(unsafe.Sizeof(v))))
	}
	return s[:n]
}
