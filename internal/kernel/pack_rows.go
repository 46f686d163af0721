package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unsafe"

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
	var once sync.Once
	var failed error
	from, to := first/panel, (first+rows+panel-1)/panel
	p.For(to-from, 1, func(lo, hi int) {
		f := packers.Get().(*packer)
		defer packers.Put(f)
		for i := from + lo; i < from+hi; i++ {
			o, end := max(i*panel, first), min((i+1)*panel, first+rows)
			if err := f.fill(m, o, w.Rows(o-first, end-first)); err != nil {
				once.Do(func() { failed = err })
				return
			}
		}
	})
	return failed
}

// turnBytes is how many bytes of a row are packed at a time: a block of all columns of a
// panel and its destination fit a first-level cache together.
const turnBytes = 256

// littleEndian reports whether the byte order of this machine is that of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// A packer packs rows into one panel at a time. It converts a few rows to the format of
// the matrix, one column each, and then transposes blocks of them, so that columns lie
// side by side. Only the converted rows take memory of their own.
type packer struct {
	rows   [panel][]byte
	staged []byte
	wide   []float32
}

var packers = sync.Pool{New: func() any { return new(packer) }}

// fill packs w as outputs o, o+1, … of m, all of one panel.
func (f *packer) fill(m *Matrix, o int, w tensor.Tensor) error {
	if m.few != nil {
		return f.roundGroups(m, o, w)
	}
	size, n, step := m.size(), w.Shape[0], turnBytes/m.size()
	if m.store == precision.Int8 { // the scale is known when the whole row has been seen
		if err := f.round(m, o, w); err != nil {
			return err
		}
		step, size = m.depth(), 1
	}
	f.wide = resize(f.wide, m.in)
	to := m.data[o/panel*panel*m.depth()*size:][:panel*m.depth()*size]
	for k := 0; k < m.depth(); k += step {
		count := min(step, m.depth()-k)
		if m.store != precision.Int8 {
			if err := f.stage(m, o, w, k, count); err != nil {
				return err
			}
		}
		f.turn(m, to[k*panel*size:], o%panel, n, count)
	}
	return nil
}

// stage sets rows to elements k … k+count-1 of the rows of w, in the format of m.
func (f *packer) stage(m *Matrix, o int, w tensor.Tensor, k, count int) error {
	n, size := w.Shape[0], m.size()
	if littleEndian && FormatOf(w.DType) == m.store { // nothing to convert
		for i := range n {
			f.rows[i] = w.Data[(i*m.in+k)*size:][:count*size]
		}
		return nil
	}
	f.staged = resize(f.staged, panel*turnBytes)
	for i := range n {
		row := f.staged[i*turnBytes:][:count*size]
		f.rows[i] = row
		wide := f.wide[:count]
		if m.store == precision.F32 {
			wide = view[float32](row)
		}
		widen(wide, w, i*m.in+k)
		switch m.store {
		case precision.F16:
			vector.scatterHalf(view[uint16](row), 1, wide)
			if err := m.checkRange(o+i, wide, 65520); err != nil {
				return err
			}
		case precision.BF16:
			half := view[uint16](row)
			for j, v := range wide {
				half[j] = tensor.BF16Bits(v)
			}
			if err := m.checkRange(o+i, wide, 0x1.ffp127); err != nil {
				return err
			}
		}
	}
	return nil
}

// round sets rows to the rows of w rounded to int8, plus 128, padded with zeros. It also
// sets the scales and offsets of m.
func (f *packer) round(m *Matrix, o int, w tensor.Tensor) error {
	depth := m.depth()
	f.staged, f.wide = resize(f.staged, panel*depth), resize(f.wide, m.in)
	for i := range w.Shape[0] {
		widen(f.wide, w, i*m.in)
		inverse, scale := int8Scale(int8s.fn.maxAbs(f.wide))
		if scale != scale {
			return fmt.Errorf("kernel: weights of output %d are NaN or Inf, which int8 cannot represent", o+i)
		}
		row := f.staged[i*depth:][:depth]
		int8s.fn.quantise(row[:m.in], f.wide, inverse)
		for k := m.in; k < depth; k++ {
			row[k] = int8Zero
		}
		f.rows[i] = row
		m.scale[o+i], m.offset[o+i] = scale, -int8Zero*(sumBytes(row)-int8Zero*int32(depth))
	}
	return nil
}

// checkRange returns an error if a finite weight of output o has a magnitude of limit or
// more: it has been rounded to infinity.
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

// turn writes count elements of each of the first n rows to columns c, c+1, … of a
// panel.
func (f *packer) turn(m *Matrix, to []byte, c, n, count int) {
	switch m.store {
	case precision.F32:
		f.words(to, c, n, count, 0)
	case precision.Int8: // four of them are a word; all rows at once are too much for a cache
		for k := 0; k < count; k += turnBytes {
			block := min(turnBytes, count-k)
			f.words(to[k*panel:], c, n, block/4, int8Signs)
			for i := range n {
				f.rows[i] = f.rows[i][block:]
			}
		}
	default:
		f.halves(to, m.place, c, n, count)
	}
}

// words transposes rows of four-byte elements, and inverts the bits that are set in flip.
func (f *packer) words(to []byte, c, n, count int, flip uint64) {
	const size, low = 4, 1<<32 - 1
	le := binary.LittleEndian
	if n < panel {
		for i := range n {
			row := f.rows[i]
			for k := range count {
				at := (k*panel + c + i) * size
				le.PutUint32(to[at:], le.Uint32(row[k*size:])^uint32(flip))
			}
		}
		return
	}
	for i := 0; i < panel; i += 2 {
		a, b := f.rows[i][:count*size], f.rows[i+1][:count*size]
		p := to[i*size:]
		for len(a) >= 2*size {
			x, y := le.Uint64(a), le.Uint64(b)
			le.PutUint64(p, (x&low|y<<32)^flip)
			le.PutUint64(p[panel*size:], (x>>32|y&^low)^flip)
			a, b = a[2*size:], b[2*size:]
			p = p[min(2*panel*size, len(p)):]
		}
		if len(a) > 0 { // the last of an odd number
			le.PutUint64(p, (uint64(le.Uint32(a))|uint64(le.Uint32(b))<<32)^flip)
		}
	}
}

// halves transposes rows of two-byte elements. place returns the place of a column.
func (f *packer) halves(to []byte, place func(int) int, c, n, count int) {
	const size = 2
	even := 0 // how many elements are turned four by four
	if n == panel {
		even = count &^ 3
		var source [panel]int // the column that lies at each place
		for i := range panel {
			source[place(i)] = i
		}
		for i := 0; i < panel; i += 4 {
			turnHalves(to[i*size:], f.rows[source[i]], f.rows[source[i+1]], f.rows[source[i+2]], f.rows[source[i+3]], even)
		}
	}
	for i := range n {
		row, at := f.rows[i], place(c+i)
		for k := even; k < count; k++ {
			copy(to[(k*panel+at)*size:][:size], row[k*size:])
		}
	}
}

// turnHalves puts element k of each of four rows side by side, for the first
// count elements, a multiple of four: four rows of four are turned in registers.
func turnHalves(to, a, b, c, d []byte, count int) {
	const step = 2 * panel
	const even, odd, low = 0x0000ffff0000ffff, 0xffff0000ffff0000, 1<<32 - 1
	le := binary.LittleEndian
	a, b, c, d = a[:2*count], b[:2*count], c[:2*count], d[:2*count]
	for k := 0; k < 2*count; k += 8 {
		a, b, c, d := le.Uint64(a[k:]), le.Uint64(b[k:]), le.Uint64(c[k:]), le.Uint64(d[k:])
		ab02, ab13 := a&even|b&even<<16, a>>16&even|b&odd
		cd02, cd13 := c&even|d&even<<16, c>>16&even|d&odd
		p := to[k/2*step:][:3*step+8]
		le.PutUint64(p, ab02&low|cd02<<32)
		le.PutUint64(p[step:], ab13&low|cd13<<32)
		le.PutUint64(p[2*step:], ab02>>32|cd02&^low)
		le.PutUint64(p[3*step:], ab13>>32|cd13&^low)
	}
}

// widen sets dst to the elements of w from element from on.
func widen(dst []float32, w tensor.Tensor, from int) {
	switch {
	case w.DType == tensor.F16:
		widenHalf.fn(dst, w.Data[2*from:][:2*len(dst)])
	case w.DType == tensor.F32 && littleEndian && len(dst) > 0:
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*len(dst)), w.Data[4*from:])
	default:
		w.CopyTo(dst, from)
	}
}

var (
	widenHalf      = pick(widenHalfImpls)
	widenHalfImpls = append(widenHalfArch(), impl[widenHalfFunc]{"ref", true, widenHalfRef})
)

// A widenHalfFunc sets dst to the binary16 numbers in src, little-endian.
type widenHalfFunc = func(dst []float32, src []byte)

func widenHalfRef(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = tensor.F16ToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// sumBytes returns the sum of row, whose length is a multiple of four.
func sumBytes(row []byte) (sum int32) {
	const even = 0x00ff00ff00ff00ff
	for len(row) >= 8 {
		lanes := uint64(0) // four, of 16 bits: room for 128 sums of two bytes
		n := min(len(row)&^7, 8*128)
		for k := 0; k < n; k += 8 {
			x := binary.LittleEndian.Uint64(row[k:])
			lanes += x&even + x>>8&even
		}
		sum += int32(lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48)
		row = row[n:]
	}
	for _, b := range row {
		sum += int32(b)
	}
	return sum
}
