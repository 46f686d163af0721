package kernel

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"verity/internal/tensor"
)

var negativeZero = float32(math.Copysign(0, -1))

// panel is the number of outputs that lie side by side in a packed matrix: four
// vectors of AVX-512, so that six rows of running sums fill its registers.
const panel = 64

// A Matrix is a weight matrix [Out][In], immutable, packed for MatMul.
//
// Outputs are grouped in panels of 64, the last one filled up with zeros. F32
// and F16 lie as [panel][k][64]. BF16 is the same, but within each half of a
// panel columns c and c+16 are neighbours, so that one 32-bit lane holds both
// and is widened by a shift and a mask. I8 lies as [panel][k/4][64][4], the four
// factors of one VPDPBUSD lane together; k is filled up with zeros.
type Matrix struct {
	out, in int
	store   tensor.DType
	data    []byte // aligned to 64 bytes
}

// Out returns the number of outputs, the rows of the matrix as checkpoints have it.
func (m *Matrix) Out() int { return m.out }

// In returns the number of inputs, the length of each dot product.
func (m *Matrix) In() int { return m.in }

// DType returns the type the weights are stored in.
func (m *Matrix) DType() tensor.DType { return m.store }

// Bytes returns what the weights take in memory, padding included: what one
// pass over the matrix reads.
func (m *Matrix) Bytes() int64 { return int64(len(m.data)) }

// Row writes the stored row o to dst[:In], as float32.
func (m *Matrix) Row(o int, dst []float32) {
	if o < 0 || o >= m.out {
		panic("kernel: row outside the matrix")
	}
	dst = dst[:m.in]
	for k := range dst {
		i := m.index(o, k)
		switch m.store {
		case tensor.F32:
			dst[k] = view[float32](m.data)[i]
		case tensor.F16:
			dst[k] = tensor.F16ToFloat32(view[uint16](m.data)[i])
		case tensor.BF16:
			dst[k] = tensor.BF16ToFloat32(view[uint16](m.data)[i])
		}
	}
}

// index returns where weight [o][k] lies, in elements.
func (m *Matrix) index(o, k int) int {
	c := o % panel
	if m.store == tensor.BF16 {
		c = bf16Column(c)
	}
	return (o/panel*m.in+k)*panel + c
}

// bf16Column returns the place of column c in a panel of bf16: in each half, 0,
// 16, 1, 17, … 15, 31.
func bf16Column(c int) int { return c&32 | c&15<<1 | c>>4&1 }

// Pack packs ws, stacked along their outputs, as a Matrix whose weights are
// stored as store: F32, F16 or BF16, rounded to nearest even where that is
// narrower. Each of ws is [out][in], f32, f16 or bf16, with the same in.
//
// It is an error if a finite weight is too large for store.
func Pack(store tensor.DType, ws ...tensor.Tensor) (*Matrix, error) {
	m := &Matrix{store: store}
	if err := m.stack(ws); err != nil {
		return nil, err
	}
	m.data = aligned((m.out + panel - 1) / panel * panel * m.in * store.Size())
	o := 0
	for _, w := range ws {
		if err := m.fill(o, w); err != nil {
			return nil, err
		}
		o += w.Shape[0]
	}
	return m, nil
}

// stack sets the shape of m to that of ws stacked along outputs.
func (m *Matrix) stack(ws []tensor.Tensor) error {
	if len(ws) == 0 {
		return errors.New("kernel: nothing to pack")
	}
	switch m.store {
	case tensor.F32, tensor.F16, tensor.BF16:
	default:
		return fmt.Errorf("kernel: cannot store weights as %v", m.store)
	}
	for _, w := range ws {
		switch {
		case len(w.Shape) != 2:
			return fmt.Errorf("kernel: weights %v, want two dimensions", w)
		case w.DType != tensor.F32 && w.DType != tensor.F16 && w.DType != tensor.BF16:
			return fmt.Errorf("kernel: cannot pack weights stored as %v", w.DType)
		case w.Shape[1] != ws[0].Shape[1]:
			return fmt.Errorf("kernel: stacked weights with %d and %d inputs", ws[0].Shape[1], w.Shape[1])
		}
		m.out += w.Shape[0]
	}
	m.in = ws[0].Shape[1]
	return nil
}

// fill packs w as outputs first, first+1, … of m.
func (m *Matrix) fill(first int, w tensor.Tensor) error {
	row := make([]float32, m.in)
	for i := range w.Shape[0] {
		w.CopyTo(row, i*m.in)
		if err := m.setRow(first+i, row); err != nil {
			return err
		}
	}
	return nil
}

func (m *Matrix) setRow(o int, row []float32) error {
	for k, v := range row {
		i := m.index(o, k)
		switch m.store {
		case tensor.F32:
			view[float32](m.data)[i] = v
		case tensor.F16:
			h := tensor.F16Bits(v)
			if h&0x7fff == 0x7c00 && !math.IsInf(float64(v), 0) {
				return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.store)
			}
			view[uint16](m.data)[i] = h
		case tensor.BF16:
			h := tensor.BF16Bits(v)
			if h&0x7fff == 0x7f80 && !math.IsInf(float64(v), 0) {
				return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.store)
			}
			view[uint16](m.data)[i] = h
		}
	}
	return nil
}

// aligned returns n zero bytes that start on a 64-byte boundary, so that no
// vector load crosses a cache line.
func aligned(n int) []byte {
	buf := make([]byte, n+63)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & 63
	return buf[skip : skip+n : skip+n]
}

// view returns data as elements of another type, in the byte order of this
// machine. The data must be aligned for it.
func view[T any](data []byte) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(v)))
}
