package kernel

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// Fill rounds the rows of w, [rows][In] in f32, f16 or bf16, into outputs first, first+1,
// … of m, on all threads of p. It is an error if w has another width or more rows than
// there are outputs, or a weight that the format of m cannot represent, see Pack; m must
// not be used after an error. Fills of other outputs may run at the same time; nothing
// may use m before they have ended.
func (m *Matrix) Fill(p *parallel.Pool, first int, w tensor.Tensor) error {
	if err := packable(w); err != nil {
		return err
	}
	rows := w.Shape[0]
	if w.Shape[1] != m.in || first < 0 || rows > m.out-first {
		return fmt.Errorf("kernel: weights %v for outputs %d … of a matrix [%d %d]", w.Shape, first, m.out, m.in)
	}
	if rows == 0 || m.in == 0 {
		return nil
	}
	m.allocate()
	return eachPanel(p, first, rows, func(f *packer, o, end int) error { return f.fill(m, o, w.Rows(o-first, end-first)) })
}

// eachPanel calls pack for the outputs o … end-1 of each panel, from first to first+n-1 in all, on all
// threads of p. It returns the first error.
func eachPanel(p *parallel.Pool, first, n int, pack func(f *packer, o, end int) error) (failed error) {
	var once sync.Once
	from, to := first/panel, (first+n+panel-1)/panel
	p.For(to-from, 1, func(lo, hi int) {
		f := packers.Get().(*packer)
		defer packers.Put(f)
		for i := from + lo; i < from+hi; i++ {
			if err := pack(f, max(i*panel, first), min((i+1)*panel, first+n)); err != nil {
				once.Do(func() { failed = err })
				return
			}
		}
	})
	return failed
}

// transposeBytes is how many bytes of a row are packed at a time: a block of all columns of a
// panel and its destination fit a first-level cache together.
const transposeBytes = 256

// littleEndian reports whether the byte order of this machine is that of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// A packer packs rows into one panel at a time. It converts a few rows to the format of
// the matrix, one column each, and then transposes blocks of them, so that columns lie
// side by side. Only the converted rows take memory of their own.
type packer struct {
	rows   []byte // stride bytes apart
	stride int
	staged []byte
	wide   []float32
}

var packers = sync.Pool{New: func() any { return new(packer) }}

// fill packs w as outputs o, o+1, … of m, all of one panel.
func (f *packer) fill(m *Matrix, o int, w tensor.Tensor) error {
	if m.grouped != nil {
		return f.roundGroups(m, o, w)
	}
	size, n, step := m.size(), w.Shape[0], transposeBytes/m.size()
	if m.format == precision.Int8 { // the scale is known when the whole row has been seen
		if err := f.round(m, o, w); err != nil {
			return err
		}
		step, size = m.depth(), 1
	}
	f.wide = Resize(f.wide, m.in)
	to := m.data[o/panel*panel*m.depth()*size:][:panel*m.depth()*size]
	for k := 0; k < m.depth(); k += step {
		count := min(step, m.depth()-k)
		if m.format != precision.Int8 {
			if err := f.stage(m, o, w, k, count); err != nil {
				return err
			}
		}
		f.transpose(m, to[k*panel*size:], o%panel, n, count)
	}
	return nil
}

// stage sets rows to elements k … k+count-1 of the rows of w, in the format of m.
func (f *packer) stage(m *Matrix, o int, w tensor.Tensor, k, count int) error {
	n, size := w.Shape[0], m.size()
	if littleEndian && FormatOf(w.DType) == m.format && w.DType.Size() == size { // nothing to convert
		f.rows, f.stride = w.Data[k*size:], m.in*size
		return nil
	}
	f.staged = Resize(f.staged, panel*transposeBytes)
	f.rows, f.stride = f.staged, transposeBytes
	for i := range n {
		row := f.staged[i*transposeBytes:][:count*size]
		wide := f.wide[:count]
		if m.format == precision.F32 {
			wide = view[float32](row)
		}
		widen(wide, w, i*m.in+k)
		if m.format == precision.F16 {
			use.vector.narrow(view[uint16](row), wide)
			if err := m.checkRange(o+i, wide, 65520); err != nil {
				return err
			}
		}
	}
	return nil
}

// round sets rows to the rows of w rounded to int8, padded with zeros. It also sets the scales and
// offsets of m.
func (f *packer) round(m *Matrix, o int, w tensor.Tensor) error {
	f.wide = Resize(f.wide, m.in)
	f.stageInt8(m)
	for i := range w.Shape[0] {
		widen(f.wide, w, i*m.in)
		row := f.staged[i*f.stride:][:f.stride]
		scale := roundRow(row, f.wide)
		if scale != scale {
			return fmt.Errorf("kernel: weights of output %d are NaN or Inf, which int8 cannot represent", o+i)
		}
		m.finishRow(o+i, row, scale)
	}
	return nil
}

// stageInt8 makes room for a panel of int8 rows.
func (f *packer) stageInt8(m *Matrix) {
	f.staged = Resize(f.staged, panel*m.depth())
	f.rows, f.stride = f.staged, m.depth()
}

// roundRow rounds a row as Pack does, and adds int8Zero. It returns the scale, NaN if not all of
// the row is finite.
func roundRow(dst []byte, row []float32) (scale float32) {
	inverse, scale := int8Scale(use.int8s.maxAbs(row))
	if scale == scale {
		use.int8s.quantise(dst[:len(row)], row, inverse)
	}
	return scale
}

// finishRow pads a row of output o, takes int8Zero off, and sets its scale and offset.
func (m *Matrix) finishRow(o int, row []byte, scale float32) {
	for k := m.in; k < len(row); k++ {
		row[k] = int8Zero
	}
	m.scale[o] = scale
	if int8Zero != 0 {
		m.offset[o] = centre(row)
	}
}

// RoundRow writes a row as int8, two's complement, as Pack rounds it. It returns the scale: the row
// is about the scale times dst. The scale is NaN if not all of the row is finite.
func RoundRow(dst []byte, row []float32) (scale float32) {
	scale = roundRow(dst, row)
	for k := range row {
		dst[k] -= int8Zero
	}
	return scale
}

// FillRows copies rows lo … hi-1 of w into outputs first, first+1, … of m, which is int8, on all
// threads of p. It is an error if a code is -128, which Pack never makes. It panics if w has another
// width or too few rows, or m too few outputs.
func (m *Matrix) FillRows(p *parallel.Pool, first int, w *quant.RowMatrix, lo, hi int) error {
	if m.format != precision.Int8 || w.Cols != m.in || lo < 0 || hi > w.Rows || first < 0 || hi-lo > m.out-first {
		panic("kernel: FillRows of weights that do not fit")
	}
	if lo == hi {
		return nil
	}
	m.allocate()
	return eachPanel(p, first, hi-lo, func(f *packer, o, end int) error { return f.copyRows(m, o, w, lo+o-first, end-o) })
}

// copyRows packs n rows of w from row on as outputs o, o+1, … of m, all of one panel.
func (f *packer) copyRows(m *Matrix, o int, w *quant.RowMatrix, row, n int) error {
	f.stageInt8(m)
	signs := bytes.Repeat([]byte{int8Zero}, w.Cols)
	for i := range n {
		to, codes := f.staged[i*f.stride:][:f.stride], w.Row(row+i)
		subtle.XORBytes(to, codes, signs) // adds int8Zero
		if bytes.IndexByte(codes, 0x80) >= 0 {
			return fmt.Errorf("kernel: output %d has the weight -128, want -127 to 127: convert the model again", o+i)
		}
		m.finishRow(o+i, to, w.Scale(row+i))
	}
	f.transpose(m, m.data[o/panel*panel*m.depth():][:panel*m.depth()], o%panel, n, m.depth())
	return nil
}

// checkRange returns an error if a finite weight of output o has a magnitude of limit or
// more: it has been rounded to infinity.
func (m *Matrix) checkRange(o int, row []float32, limit float32) error {
	if use.int8s.maxAbs(row) < math.Float32bits(limit) {
		return nil
	}
	for _, v := range row {
		if v-v == 0 && (v >= limit || v <= -limit) {
			return fmt.Errorf("kernel: weight %g of output %d is too large for %v", v, o, m.format)
		}
	}
	return nil
}

// transpose writes count elements of each of the first n rows to columns c, c+1, … of a
// panel.
func (f *packer) transpose(m *Matrix, to []byte, c, n, count int) {
	switch m.format {
	case precision.F32:
		use.packing.words(to[4*c:], f.rows, f.stride, n, count)
	case precision.Int8: // four of them are a word; all rows at once are too much for a cache
		for k := 0; k < count; k += transposeBytes {
			block := min(transposeBytes, count-k)
			use.packing.words(to[k*panel+4*c:], f.rows[k:], f.stride, n, block/4)
		}
	case precision.F16:
		use.packing.halves(to[2*c:], f.rows, f.stride, n, count)
	}
}

// Widen sets dst to the elements of w, in f32, f16 or bf16, on all threads of p.
func Widen(p *parallel.Pool, dst []float32, w tensor.Tensor) {
	p.For(len(dst), 1<<14, func(lo, hi int) { widen(dst[lo:hi], w, lo) })
}

// widen sets dst to the elements of w from element from on.
func widen(dst []float32, w tensor.Tensor, from int) {
	switch {
	case w.DType == tensor.F16:
		use.packing.widenHalf(dst, w.Data[2*from:][:2*len(dst)])
	case w.DType == tensor.F32 && littleEndian && len(dst) > 0:
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*len(dst)), w.Data[4*from:])
	default:
		w.CopyTo(dst, from)
	}
}
