package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A DType is the type of a tensor's elements.
type DType uint8

// The element types the engine computes with.
const (
	F32  DType = iota + 1 // IEEE 754 binary32
	F16                   // IEEE 754 binary16
	BF16                  // the upper half of a binary32
	I8                    // two's complement; its scale is kept elsewhere
)

var dtypes = [...]struct {
	name string
	size int // of an element, in bytes
}{0: {"no type", 0}, F32: {"f32", 4}, F16: {"f16", 2}, BF16: {"bf16", 2}, I8: {"int8", 1}}

// Size returns the bytes of one element, 0 for the zero DType.
func (d DType) Size() int { return dtypes[d].size }

// String returns "f32", "f16", "bf16" or "int8".
func (d DType) String() string { return dtypes[d].name }

// A Tensor is an immutable array. len(Data) is Len()·DType.Size(); Shape is
// empty for a scalar.
type Tensor struct {
	DType DType
	Shape []int
	Data  []byte
}

// Len returns the number of elements, the product of the shape.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// String describes the tensor, as in "[1280 1280] f16".
func (t Tensor) String() string { return fmt.Sprintf("%v %v", t.Shape, t.DType) }

// Rows returns rows lo to hi of the leading dimension, sharing the bytes of t.
// It panics if the range is outside the tensor, or if t is a scalar.
func (t Tensor) Rows(lo, hi int) Tensor {
	if lo < 0 || hi < lo || hi > t.Shape[0] {
		panic("tensor: rows out of range")
	}
	shape := append([]int{hi - lo}, t.Shape[1:]...)
	row := t.DType.Size()
	for _, d := range t.Shape[1:] {
		row *= d
	}
	return Tensor{t.DType, shape, t.Data[lo*row : hi*row : hi*row]}
}

// CopyTo converts elements from … from+len(dst)-1 to dst, exactly: every value
// of every type has a float32 of its own. It panics if t has fewer elements.
func (t Tensor) CopyTo(dst []float32, from int) {
	size := t.DType.Size()
	src := t.Data[from*size : (from+len(dst))*size]
	switch t.DType {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		table := f16Table()
		for i := range dst {
			dst[i] = table[binary.LittleEndian.Uint16(src[2*i:])]
		}
	case BF16:
		for i := range dst {
			dst[i] = BF16ToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case I8:
		for i := range dst {
			dst[i] = float32(int8(src[i]))
		}
	default:
		panic("tensor: CopyTo of a tensor without a type")
	}
}

// Float32 returns all elements, converted as [Tensor.CopyTo] does.
func (t Tensor) Float32() []float32 {
	x := make([]float32, t.Len())
	t.CopyTo(x, 0)
	return x
}

// FromFloat32 returns an F32 tensor holding a copy of x. It panics if the shape
// does not have len(x) elements.
func FromFloat32(x []float32, shape ...int) Tensor { return Convert(x, F32, shape...) }

// Convert returns a tensor of type F32, F16 or BF16 holding x, each element
// rounded to nearest, ties to even. It panics on another type, or if the shape
// does not have len(x) elements.
func Convert(x []float32, dtype DType, shape ...int) Tensor {
	t := Tensor{DType: dtype, Shape: append([]int{}, shape...)}
	if t.Len() != len(x) {
		panic("tensor: shape does not match the number of elements")
	}
	t.Data = make([]byte, 0, len(x)*dtype.Size())
	for _, v := range x {
		switch dtype {
		case F32:
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
		case F16:
			t.Data = binary.LittleEndian.AppendUint16(t.Data, F16Bits(v))
		case BF16:
			t.Data = binary.LittleEndian.AppendUint16(t.Data, BF16Bits(v))
		default:
			panic("tensor: Convert to a type that holds no floats")
		}
	}
	return t
}
