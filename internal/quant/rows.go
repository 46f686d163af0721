package quant

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A RowMatrix is rows of int8, each row with a float32 scale: the format int8. Its bytes may be
// views of a mapped file, which must not be written to.
type RowMatrix struct {
	Rows, Cols int
	Codes      []byte // [Rows][Cols], two's complement, at least -127
	Scales     []byte // [Rows], float32, little-endian
}

// NewRows returns a matrix of zeros.
func NewRows(rows, cols int) *RowMatrix {
	return &RowMatrix{rows, cols, make([]byte, rows*cols), make([]byte, 4*rows)}
}

// Check returns an error if a matrix from outside has lengths that do not fit its shape, or a scale
// that is negative or not finite. Codes are checked where they are packed as int8; Floats accepts -128.
func (m *RowMatrix) Check() error {
	if m.Rows < 0 || m.Cols < 1 || len(m.Codes) != m.Rows*m.Cols || len(m.Scales) != 4*m.Rows {
		return fmt.Errorf("quant: %d codes and %d bytes of scales, want those of int8 of [%d %d]",
			len(m.Codes), len(m.Scales), m.Rows, m.Cols)
	}
	for r := range m.Rows {
		if s := m.Scale(r); !(s >= 0 && s <= math.MaxFloat32/127) {
			return fmt.Errorf("quant: scale %d is %v, want a number from 0 to %.3g", r, s, math.MaxFloat32/127)
		}
	}
	return nil
}

// Scale returns the scale of a row.
func (m *RowMatrix) Scale(row int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(m.Scales[4*row:]))
}

// Put writes the scale of a row, whose codes the caller writes to Row.
func (m *RowMatrix) Put(row int, scale float32) {
	binary.LittleEndian.PutUint32(m.Scales[4*row:], math.Float32bits(scale))
}

// Row returns the codes of a row.
func (m *RowMatrix) Row(row int) []byte { return m.Codes[row*m.Cols:][:m.Cols] }

// Floats writes a row as float32.
func (m *RowMatrix) Floats(row int, dst []float32) {
	scale := m.Scale(row)
	for i, c := range m.Row(row) {
		dst[i] = scale * float32(int8(c))
	}
}
