package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"

	"verity/internal/tensor"
	"verity/parallel"
)

// An Entry is the place of a tensor in a file and the decoding of its values.
type Entry struct {
	Name  string
	Shape []int  // row-major
	Type  string // as the format calls it: "F16", "q5_0", …

	// DType is the type of the decoded values; 0 if the network cannot use the tensor.
	DType tensor.DType

	// Data is the tensor's bytes in the file.
	Data []byte

	// Decode writes one row of values, of type DType, for a tensor whose bytes are
	// not its values. Nil means that they are. It must be safe for concurrent use.
	Decode func(dst []byte, row int)
}

// String describes the tensor, as in "[1280 1280] f16" or "[7] I64".
func (e Entry) String() string {
	if e.DType == 0 || e.Decode != nil {
		return fmt.Sprintf("%v %s", e.Shape, e.Type)
	}
	return fmt.Sprintf("%v %v", e.Shape, e.DType)
}

// Quantised reports whether the values are decoded from fewer bits.
func (e Entry) Quantised() bool { return e.Decode != nil }

// Len returns the number of values.
func (e Entry) Len() int { return tensor.Tensor{Shape: e.Shape}.Len() }

// rows returns the number of rows: 1 for a scalar.
func (e Entry) rows() int {
	if len(e.Shape) == 0 {
		return 1
	}
	return e.Shape[0]
}

// Tensor returns all values: a view of the file, or decoded.
func (e Entry) Tensor() tensor.Tensor { return e.Rows(0, e.rows()) }

// Rows returns rows lo … hi-1 of the leading dimension: a view of the file, or
// decoded. It panics if the range is outside the tensor.
func (e Entry) Rows(lo, hi int) tensor.Tensor {
	if e.Decode == nil {
		whole := tensor.Tensor{DType: e.DType, Shape: slices.Clone(e.Shape), Data: e.Data[:len(e.Data):len(e.Data)]}
		if len(e.Shape) == 0 || lo == 0 && hi == e.Shape[0] {
			return whole
		}
		return whole.Rows(lo, hi)
	}
	if lo < 0 || hi < lo || hi > e.rows() {
		panic("weights: rows out of range")
	}
	shape := slices.Clone(e.Shape)
	if len(shape) > 0 {
		shape[0] = hi - lo
	}
	t := tensor.Tensor{DType: e.DType, Shape: shape}
	t.Data = make([]byte, t.Len()*e.DType.Size())
	row := len(t.Data) / max(1, hi-lo)
	var pool *parallel.Pool // nil decodes here: threads cost more than a small tensor
	if len(t.Data) >= 1<<18 {
		pool = parallel.New(runtime.GOMAXPROCS(0))
		defer pool.Close()
	}
	pool.For(hi-lo, 1, func(from, to int) {
		for r := from; r < to; r++ {
			e.Decode(t.Data[r*row:(r+1)*row], lo+r)
		}
	})
	return t
}

// Floats returns a Decode for rows of cols values of type f32, of which decode makes one.
func Floats(cols int, decode func(dst []float32, row int)) func(dst []byte, row int) {
	return func(dst []byte, row int) {
		x := make([]float32, cols)
		decode(x, row)
		for i, v := range x {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
}

// Part returns rows lo … hi-1 as a tensor of their own, under another name. It
// panics if the range is outside the tensor, or if that is a scalar.
func (e Entry) Part(name string, lo, hi int) Entry {
	if lo < 0 || hi < lo || hi > e.Shape[0] {
		panic("weights: rows out of range")
	}
	part := e
	part.Name, part.Shape = name, slices.Clone(e.Shape)
	part.Shape[0] = hi - lo
	if row := len(e.Data) / max(1, e.Shape[0]); row*e.Shape[0] == len(e.Data) {
		part.Data = e.Data[lo*row : hi*row : hi*row]
	}
	if decode := e.Decode; decode != nil {
		part.Decode = func(dst []byte, row int) { decode(dst, lo+row) }
	}
	return part
}
