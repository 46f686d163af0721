package kernel

import (
	"fmt"
	"math"
	"sync"

	"verity/internal/tensor"
	"verity/precision"
)

// panel is the number of outputs that lie side by side in a packed matrix: four
// vectors of AVX-512, so that six rows of running sums fill its registers.
const panel = 64

// A Matrix is a weight matrix [Out][In], immutable, packed for MatMul.
//
// Outputs are grouped in panels of 64, the last one padded with zeros. F32 and F16 lie as
// [panel][k][64].
// Int8 lies as [panel][k/4][64][4], the four factors of one VPDPBUSD lane together; k is
// padded with zeros. The weight is scale[o] times the int8.
type Matrix struct {
	out, in int
	format  precision.Format
	data    []byte    // aligned to 64 bytes; nil before Fill
	once    sync.Once // of allocate

	// For int8, padded to full panels:
	scale  []float32
	offset []int32 // -int8Zero·Σ_k w[o][k], for activations that have int8Zero added

	// For formats with groups, of each group of each panel:
	grouped *fewBitsForm
	scales  []byte // [64], as binary16 or as an exponent
	zeros   []byte // [64], added to the codes of a column, of four bits
}

// Out returns the number of outputs, the rows of the matrix as checkpoints have it.
func (m *Matrix) Out() int { return m.out }

// In returns the number of inputs, the length of each dot product.
func (m *Matrix) In() int { return m.in }

// Format returns the format the weights are held in.
func (m *Matrix) Format() precision.Format { return m.format }

// Bytes returns what the weights take in memory, padding included: what one
// pass over the matrix reads.
func (m *Matrix) Bytes() int64 {
	return int64(len(m.data) + 4*len(m.scale) + 4*len(m.offset) + len(m.scales) + len(m.zeros))
}

// Row writes the stored row o to dst[:In], as float32.
func (m *Matrix) Row(o int, dst []float32) {
	if o < 0 || o >= m.out {
		panic("kernel: row outside the matrix")
	}
	dst = dst[:m.in]
	if m.grouped != nil {
		m.fewBitsRow(o, dst)
		return
	}
	at, step := m.place(o), panel
	switch m.format {
	case precision.F32:
		for k := range dst {
			dst[k] = view[float32](m.data)[at+k*step]
		}
	case precision.F16:
		for k := range dst {
			dst[k] = tensor.F16ToFloat32(view[uint16](m.data)[at+k*step])
		}
	case precision.Int8:
		for k := range dst {
			dst[k] = float32(view[int8](m.data)[at+k/4*4*step+k%4]) * m.scale[o]
		}
	}
}

// size returns the bytes of an element, 0 of a format that no kernel multiplies.
func (m *Matrix) size() int {
	switch m.format {
	case precision.F32, precision.F16, precision.Int8:
		return m.format.Bits() / 8
	}
	return 0
}

// FormatOf returns the narrowest format that holds numbers of the file type d without any
// change.
func FormatOf(d tensor.DType) precision.Format {
	switch d {
	case tensor.F32, tensor.BF16:
		return precision.F32
	case tensor.F16:
		return precision.F16
	}
	return precision.Auto // integers need a scale
}

// depth returns the length of a panel along k: In, padded to a multiple of four for int8,
// or to whole groups.
func (m *Matrix) depth() int {
	if m.grouped != nil {
		return m.groups() * groupSize
	}
	if m.format == precision.Int8 {
		return (m.in + 3) &^ 3
	}
	return m.in
}

func (m *Matrix) panels() int { return (m.out + panel - 1) / panel }

// place returns the index of weight [o][0] in the data.
func (m *Matrix) place(o int) int {
	c := o % panel
	if m.format == precision.Int8 {
		c *= 4
	}
	return o/panel*panel*m.depth() + c
}

// Pack packs w, [out][in] in f32, f16 or bf16, as a Matrix whose weights are stored as format.
//
// F16 is rounded to nearest even.
// Int8 is symmetric with a scale per output: with m the largest magnitude of the row, the
// weight is m/127 times round(w·(127/m)), ties to even; a row whose m is below 2⁻¹⁰⁰ is
// zero.
//
// It is an error if a finite weight is too large for format, or if any is not finite and
// format is Int8.
func Pack(format precision.Format, w tensor.Tensor) (*Matrix, error) {
	if err := packable(w); err != nil {
		return nil, err
	}
	m, err := NewMatrix(format, w.Shape[0], w.Shape[1])
	if err == nil {
		err = m.Fill(nil, 0, w)
	}
	return m, err
}

// maxInt8In is how many products of magnitude 127·127 an int32 holds.
const maxInt8In = math.MaxInt32 / (127 * 127)

// NewMatrix returns a matrix [out][in] whose weights are stored as format and undefined
// until Fill, which takes the memory.
func NewMatrix(format precision.Format, out, in int) (*Matrix, error) {
	m := &Matrix{out: out, in: in, format: format}
	if f := fewBitsForms[format]; f != nil {
		return newFewBits(m, f), nil
	}
	switch {
	case m.size() == 0:
		return nil, fmt.Errorf("kernel: cannot hold weights in the format %v", format)
	case format == precision.Int8 && in > maxInt8In:
		return nil, fmt.Errorf("kernel: %d inputs, int8 sums hold at most %d", in, maxInt8In)
	}
	padded := m.panels() * panel
	if format == precision.Int8 {
		m.scale, m.offset = make([]float32, padded), make([]int32, padded)
	}
	return m, nil
}

// allocate makes room for the weights, unless m has it.
func (m *Matrix) allocate() {
	m.once.Do(func() {
		if m.grouped != nil {
			return // has it
		}
		m.data = aligned(m.panels() * panel * m.depth() * m.size())
	})
}

// packable returns an error if w cannot be packed as a matrix of weights.
func packable(w tensor.Tensor) error {
	switch {
	case len(w.Shape) != 2:
		return fmt.Errorf("kernel: weights of shape %v, want two dimensions", w.Shape)
	case w.DType != tensor.F32 && w.DType != tensor.F16 && w.DType != tensor.BF16:
		return fmt.Errorf("kernel: cannot pack weights stored as %v", w.DType)
	}
	return nil
}
