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
		vector.scatterHalf(view[uint16](m.data)[at:], panel, row)
		return m.checkRange(o, row, 65520)
	case tensor.BF16:
		for k, v := range row {
			half[k] = tensor.BF16Bits(v)
		}
		scatter(view[uint16](m.data)[at:], half)
		return m.checkRange(o, row, 0x1.ffp127)
	case tensor.I8:
		return m.setInt8(o, row)
	}
	return nil
}

// checkRange returns an error if a finite weight of output o is limit or more in
// magnitude: it has become infinite.
func (m *Matrix) checkRange(o int, row []float32, limit float32) error {
	if int8s.fn.maxAbs(row) < math.Float32bits(limit) {
		return nil
	}
	for _, v := range row {
		if v-v == 0 && (v >= limit || v <= -limit) {
			return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.store)
		}
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
	inverse, scale := int8Scale(int8s.fn.maxAbs(row))
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
