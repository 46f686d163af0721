package kernel

import (
	"bytes"
	"fmt"
	"math"

	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// A fewBitsForm is how a matrix holds weights in groups.
type fewBitsForm struct {
	size  int      // bytes of a group of a panel, as codes
	zero  int32    // added to a weight when it is expanded
	large [16]byte // expansion of the large codes of six bits
	sixes [64]byte // expansion of a six-bit code
}

// fewBitsForms holds the form of every format with groups. Codes in memory are those of
// files (package quant) in another order.
var fewBitsForms = map[precision.Format]*fewBitsForm{
	precision.Int4:  {size: groupBytes / 2, zero: 15},
	precision.Int4Z: {size: groupBytes / 2, zero: 15},
	precision.MXFP6: mxfp6Form(),
}

// mxfp6Form returns the form of E2M3, as mxfp6Ref expands it: magnitudes below 16 are their
// own codes.
func mxfp6Form() *fewBitsForm {
	f := &fewBitsForm{size: groupBytes * 3 / 4, zero: 60}
	for c, v := range quant.MXFP6.Table()[16:32] { // those without a sign
		f.large[c] = byte(v)
	}
	for c, v := range quant.MXFP6.Table() {
		f.sixes[c] = byte(int32(v) + f.zero)
	}
	return f
}

// powers reports whether scales are powers of two in a byte, and not binary16.
func (m *Matrix) powers() bool { return m.format == precision.MXFP6 }

// scaleBytes returns the bytes of a scale.
func (m *Matrix) scaleBytes() int { return quant.Format(m.format).ScaleBytes() }

func newFewBits(m *Matrix, f *fewBitsForm) *Matrix {
	groups := m.panels() * m.groups()
	m.grouped = f
	m.data = aligned(groups * f.size)
	m.scales = aligned(groups * panel * m.scaleBytes())
	switch m.format {
	case precision.Int4Z:
		m.zeros = aligned(groups * panel)
	case precision.Int4:
		m.zeros = bytes.Repeat([]byte{byte(f.zero - 8)}, m.groups()*panel)
	}
	return m
}

// zerosFrom returns the zeros of n groups from group at on. Panels of Int4 share theirs.
func (m *Matrix) zerosFrom(at, n int) []byte { return m.zeros[at*panel%len(m.zeros):][:n*panel] }

// groups returns how many groups a row has.
func (m *Matrix) groups() int { return (m.in + groupSize - 1) / groupSize }

// FillPacked copies rows lo … hi-1 of w into outputs first, first+1, … of m, on all threads of p.
// It panics if w has another format or width, or too few rows, or m too few outputs.
func (m *Matrix) FillPacked(p *parallel.Pool, first int, w *quant.Matrix, lo, hi int) {
	if precision.Format(w.Format) != m.format || w.Cols != m.in ||
		lo < 0 || hi > w.Rows || first < 0 || hi-lo > m.out-first {
		panic("kernel: FillPacked of weights that do not fit")
	}
	_ = eachPanel(p, first, hi-lo, func(_ *packer, o, end int) error {
		m.packGroups(o, w, lo+o-first, end-o)
		return nil
	})
}

// roundGroups rounds the rows of w to nearest and stores them as outputs o, o+1, …, all
// of one panel.
func (f *packer) roundGroups(m *Matrix, o int, w tensor.Tensor) error {
	f.wide = Resize(f.wide, m.in)
	rows := quant.New(quant.Format(m.format), w.Shape[0], m.in)
	for i := range w.Shape[0] {
		widen(f.wide, w, i*m.in)
		if most := maxAbsRef(f.wide); most > maxAbsRef([]float32{quant.Largest}) {
			return fmt.Errorf("kernel: output %d has a weight that is NaN, Inf or above %d, which %v cannot represent",
				o+i, quant.Largest, m.format)
		}
		rows.Nearest(i, f.wide)
	}
	m.packGroups(o, rows, 0, w.Shape[0])
	return nil
}

// fewBitsBlock is how many groups are expanded at a time. They and their scales stay in a
// first-level cache until all rows have used them, beside the codes of the next two
// blocks, which are prefetched meanwhile.
const fewBitsBlock = 4

// sumGroups adds the products of rows rows from first on with panel p to s.acc.
func (m *matmul) sumGroups(s *partScratch, p, first, rows int) {
	w, f := m.w, m.w.grouped
	groups := w.groups()
	x := m.rounded.rowsFrom(first, groups)
	direct, zero := use.fewBits.directNibbles, f.zero
	switch {
	case w.format == precision.MXFP6:
		direct = use.fewBits.directSixes
	case w.format == precision.Int4 && use.fewBits.directEights != nil:
		direct, zero = use.fewBits.directEights, 8
	}
	if direct != nil && (use.fewBits.directRows == 0 || rows <= use.fewBits.directRows) {
		codes, scales, more := w.codes(p*groups, groups)
		direct(s.acc[:], x, rows, codes, scales, more, zero)
		return
	}
	for g := 0; g < groups; g += fewBitsBlock {
		n, at := min(fewBitsBlock, groups-g), p*groups+g
		u, scales := w.expand(s, at, n)
		part := x
		part.q, part.start, part.scale = x.q[g*groupSize:], x.start[g:], x.scale[g:]
		ahead := distance(u, w.data) + (at+n)*f.size // the codes to expand next
		use.fewBits.tile(s.acc[:], part, rows, u, scales, f.zero, ahead)
	}
}

// codes returns the codes and scales of n groups of a matrix from group at on, and the
// zeros of the columns, or the table of six bits.
func (m *Matrix) codes(at, n int) (codes, scales, more []byte) {
	f, size := m.grouped, m.scaleBytes()
	if more = f.sixes[:]; m.zeros != nil {
		more = m.zerosFrom(at, n)
	}
	return m.data[at*f.size:][:n*f.size], m.scales[size*at*panel:][:size*n*panel], more
}

// expand returns n groups of a matrix from group at on as bytes, and their scales.
func (m *Matrix) expand(s *partScratch, at, n int) (u []byte, scales []float32) {
	f := m.grouped
	scales = s.groupScales[:n*panel]
	if m.powers() {
		use.fewBits.powers(scales, m.scales[at*panel:][:n*panel])
	} else {
		use.packing.widenHalf(scales, m.scales[2*at*panel:][:2*n*panel])
	}
	codes := m.data[at*f.size:][:n*f.size]
	u = s.groups[:n*groupBytes]
	if m.zeros != nil {
		use.fewBits.nibbles(u, codes, m.zerosFrom(at, n))
	} else {
		use.fewBits.mxfp6(u, codes, f.large[:])
	}
	return u, scales
}

func (m *Matrix) fewBitsRow(o int, dst []float32) {
	f, c := m.grouped, o%panel
	for g := range m.groups() {
		at := o/panel*m.groups() + g
		scale, codes := m.scaleOf(at*panel+c), m.data[at*f.size:][:f.size]
		for k := range min(groupSize, m.in-g*groupSize) {
			v := int32(m.weight(codes, k/4*4*panel+4*c+k%4)) - f.zero
			if m.zeros != nil {
				v += int32(m.zerosFrom(at, 1)[c])
			}
			dst[g*groupSize+k] = float32(v) * scale
		}
	}
}

// weight returns the expansion of code i of a group, as the functions in fewbits_ref.go
// define it.
func (m *Matrix) weight(codes []byte, i int) byte {
	const half, quarter = groupBytes / 2, groupBytes / 4
	code := codes[i%half] >> (i / half * 4) & 15
	if m.powers() {
		return m.grouped.sixes[code|codes[half+i%quarter]>>(i/quarter*2)&3<<4]
	}
	return code
}

func (m *Matrix) scaleOf(i int) float32 {
	if m.powers() {
		return math.Float32frombits(uint32(m.scales[i]) << 23)
	}
	return tensor.F16ToFloat32(view[uint16](m.scales)[i])
}
