package kernel

import (
	"encoding/binary"
	"fmt"
	"math"

	"verity/internal/tensor"
)

// fill packs w as outputs first, first+1, … of m. One row at a time is held as
// float32.
func (m *Matrix) fill(first int, w tensor.Tensor) error {
	row, half := make([]float32, m.in), make([]uint16, m.in)
	for i := range w.Shape[0] {
		if w.DType == m.store && w.DType != tensor.F32 { // nothing to convert
			src := w.Data[2*i*m.in:]
			for k := range half {
				half[k] = binary.LittleEndian.Uint16(src[2*k:])
			}
			scatter(view[uint16](m.data)[m.place(first+i):], half)
			continue
		}
		w.CopyTo(row, i*m.in)
		if err := m.setRow(first+i, row, half); err != nil {
			return err
		}
	}
	return nil
}

// setRow packs row as output o. half is as long, for its use.
func (m *Matrix) setRow(o int, row []float32, half []uint16) error {
	at := m.place(o)
	switch m.store {
	case tensor.F32:
		scatter(view[float32](m.data)[at:], row)
	case tensor.F16:
		for k, v := range row {
			half[k] = tensor.F16Bits(v)
			if half[k]&0x7fff == 0x7c00 && !math.IsInf(float64(v), 0) {
				return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.store)
			}
		}
		scatter(view[uint16](m.data)[at:], half)
	case tensor.BF16:
		for k, v := range row {
			half[k] = tensor.BF16Bits(v)
			if half[k]&0x7fff == 0x7f80 && !math.IsInf(float64(v), 0) {
				return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.store)
			}
		}
		scatter(view[uint16](m.data)[at:], half)
	case tensor.I8:
		return m.setInt8(o, row)
	}
	return nil
}

// scatter writes row to the first column of a panel.
func scatter[T any](to, row []T) {
	for k, v := range row {
		to[k*panel] = v
	}
}

// setInt8 packs row, rounded to int8, as output o.
func (m *Matrix) setInt8(o int, row []float32) error {
	inverse, scale := int8Scale(maxAbsRef(row))
	if scale != scale {
		return fmt.Errorf("kernel: weights of output %d are not finite, int8 has no room for that", o)
	}
	to, sum := view[int8](m.data)[m.place(o):], int32(0)
	for k, v := range row {
		q := roundInt8(v, inverse)
		to[k/4*4*panel+k%4] = int8(q)
		sum += q
	}
	m.scale[o], m.offset[o] = scale, -128*sum
	return nil
}
