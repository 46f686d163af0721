package quant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"verity/internal/tensor"
)

// A Matrix is rows of weights in groups. Its bytes may be views of a mapped file, which
// must not be written to.
type Matrix struct {
	Format     Format
	Rows, Cols int
	Codes      []byte // [Rows] of the length that Format.Sizes returns; likewise the others
	Scales     []byte
	Zeros      []byte // of Int4Z only: two in a byte, the first in the low half
}

// New returns a matrix of zeros, to be filled by Put.
func New(f Format, rows, cols int) *Matrix {
	codes, scales, zeros := f.Sizes(cols)
	return &Matrix{f, rows, cols, make([]byte, rows*codes), make([]byte, rows*scales), make([]byte, rows*zeros)}
}

// Check returns an error if a matrix from outside has lengths that do not fit its shape,
// or a scale with which a weight would not be a binary16.
func (m *Matrix) Check() error {
	if !m.Format.valid() || m.Rows < 0 || m.Cols < 1 {
		return fmt.Errorf("quant: %v of [%d %d]", m.Format, m.Rows, m.Cols)
	}
	codes, scales, zeros := m.Format.Sizes(m.Cols)
	for _, part := range []struct {
		name      string
		got, want int
	}{
		{"codes", len(m.Codes), m.Rows * codes}, {"scales", len(m.Scales), m.Rows * scales},
		{"zeros", len(m.Zeros), m.Rows * zeros},
	} {
		if part.got != part.want {
			return fmt.Errorf("quant: %d bytes of %s, want %d for %v of [%d %d]",
				part.got, part.name, part.want, m.Format, m.Rows, m.Cols)
		}
	}
	return m.checkScales()
}

func (m *Matrix) checkScales() error {
	f := forms[m.Format]
	if f.digits == 1 {
		for i, e := range m.Scales {
			if int(e) < f.least || e > 127+13 {
				return fmt.Errorf("quant: scale %d is 2^%d, want an exponent from %d to 13", i, int(e)-127, f.least-127)
			}
		}
		return nil
	}
	// Nearly all of the millions of scales pass four at once: normal numbers of few digits, at
	// most 65504/128. Those from 0x0400 on reach bit 15 by low, those above 0x5fff by high.
	const each = 0x0001000100010001
	const low, high = each * (0x8000 - 0x0400), each * (0x8000 - 0x6000)
	most, fine := float32(Largest/128), uint64(each)*(1<<(11-f.digits)-1)
	for i := 0; i < len(m.Scales); i += 2 {
		for len(m.Scales)-i >= 8 {
			bits := binary.LittleEndian.Uint64(m.Scales[i:])
			size := bits & (each * 0x7fff)
			if bits&fine != 0 || (size+low)&^(size+high)&(each*0x8000) != each*0x8000 {
				break
			}
			i += 8
		}
		if i == len(m.Scales) {
			break
		}
		s := tensor.F16ToFloat32(binary.LittleEndian.Uint16(m.Scales[i:]))
		if !(s >= -most && s <= most) || significant(s, f.digits) != s {
			return fmt.Errorf("quant: scale %d is %v, want at most %v and %d significant bits", i/2, s, most, f.digits)
		}
	}
	return nil
}

// WithZeros returns an int4 matrix in int4z, with the same weights; any other as it is. It
// shares codes and scales.
func (m *Matrix) WithZeros() *Matrix {
	if m.Format != Int4 {
		return m
	}
	_, _, zeros := Int4Z.Sizes(m.Cols)
	const both = 8 | 8<<4
	return &Matrix{Int4Z, m.Rows, m.Cols, m.Codes, m.Scales, bytes.Repeat([]byte{both}, m.Rows*zeros)}
}

// Put writes a group: its grid, and its codes in order.
func (m *Matrix) Put(row, group int, g Grid, codes []uint8) {
	nc, ns, nz := m.Format.Sizes(m.Cols)
	if m.Format.ScaleBytes() == 1 {
		m.Scales[row*ns+group] = uint8(g.bits)
	} else {
		binary.LittleEndian.PutUint16(m.Scales[row*ns+2*group:], g.bits)
	}
	if nz > 0 {
		at, shift := row*nz+group/2, 4*(group&1)
		m.Zeros[at] = m.Zeros[at]&^(15<<shift) | g.zero<<shift
	}
	bits := m.Format.Bits()
	to := m.Codes[row*nc+group*Group/8*bits:][:Group/8*bits]
	clear(to)
	for i := range Group {
		c := g.nothing()
		if i < len(codes) {
			c = codes[i]
		}
		at := i * bits
		v := uint16(c) << (at & 7)
		to[at/8] |= byte(v)
		if v > 255 {
			to[at/8+1] |= byte(v >> 8)
		}
	}
}

// Grid returns the grid of a group.
func (m *Matrix) Grid(row, group int) Grid {
	_, ns, nz := m.Format.Sizes(m.Cols)
	if m.Format.ScaleBytes() == 1 {
		return m.Format.power(int(m.Scales[row*ns+group]))
	}
	bits := binary.LittleEndian.Uint16(m.Scales[row*ns+2*group:])
	g := Grid{m.Format, bits, 0, tensor.F16ToFloat32(bits)}
	if nz > 0 {
		g.zero = m.Zeros[row*nz+group/2] >> (4 * (group & 1)) & 15
	}
	return g
}

// Floats writes a row as float32, exactly.
func (m *Matrix) Floats(row int, dst []float32) {
	var buf [Group]int8
	for group := range groups(m.Cols) {
		scale := m.unpack(row, group, buf[:])
		for i := range dst[group*Group : min(m.Cols, (group+1)*Group)] {
			dst[group*Group+i] = scale * float32(buf[i])
		}
	}
}

// unpack writes the integers of a group to dst[:Group] and returns their scale.
func (m *Matrix) unpack(row, group int, dst []int8) float32 {
	g := m.Grid(row, group)
	codes, _, _ := m.Format.Sizes(m.Cols)
	bits, table := m.Format.Bits(), forms[m.Format].table
	from := m.Codes[row*codes+group*Group/8*bits:][:Group/8*bits]
	if bits == 4 { // the most common width, and the slowest part of loading a model
		for i, b := range from {
			dst[2*i], dst[2*i+1] = table[b&15]-int8(g.zero), table[b>>4]-int8(g.zero)
		}
		return g.scale
	}
	mask := uint16(1)<<bits - 1
	for i := range dst[:Group] {
		at := i * bits
		v := uint16(from[at/8]) >> (at & 7)
		if at&7+bits > 8 {
			v |= uint16(from[at/8+1]) << (8 - at&7)
		}
		dst[i] = table[v&mask] - int8(g.zero)
	}
	return g.scale
}

// Nearest codes a row, each group on the grid that Fit finds. Weights must be as Fit
// requires.
func (m *Matrix) Nearest(row int, w []float32) {
	var codes [Group]uint8
	for group := range groups(m.Cols) {
		part := w[group*Group : min(m.Cols, (group+1)*Group)]
		g := m.Format.Fit(part, nil)
		for i, x := range part {
			codes[i] = g.Code(x)
		}
		m.Put(row, group, g, codes[:len(part)])
	}
}

// Halves writes a row as binary16, little endian, exactly.
func (m *Matrix) Halves(row int, dst []byte) {
	var buf [Group]int8
	for group := range groups(m.Cols) {
		scale := m.unpack(row, group, buf[:])
		to := dst[2*group*Group : 2*min(m.Cols, (group+1)*Group)]
		for i := 0; i < len(to); i += 2 {
			binary.LittleEndian.PutUint16(to[i:], half(scale*float32(buf[i/2])))
		}
	}
}

// half returns the bits of a float32 that is a binary16.
func half(x float32) uint16 {
	u := math.Float32bits(x)
	if e := u >> 23 & 0xff; e > 127-15 { // normal in binary16 too
		return uint16(u>>16&0x8000 | (e-(127-15))<<10 | u>>13&0x3ff)
	}
	return tensor.F16Bits(x)
}
