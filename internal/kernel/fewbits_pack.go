package kernel

import (
	"encoding/binary"
	"math"

	"verity/internal/quant"
	"verity/precision"
)

// packGroups sets outputs o, o+1, … of m, all of one panel, to n rows of w from row on.
// It moves codes in words of eight and never decodes them, since it takes most of the time
// of loading a few-bit model. A group in work stays in a first-level cache.
func (m *Matrix) packGroups(o int, w *quant.Matrix, row, n int) {
	f, groups := m.grouped, m.groups()
	stride, scales, zeros := w.Format.Sizes(w.Cols)
	width, pack := stride/groups, packNibbles
	if m.powers() {
		pack = packSixes
	}
	first := o / panel * groups
	for g := range groups {
		pack(m.data[(first+g)*f.size:][:f.size], w.Codes[row*stride+g*width:], o%panel, n, stride)
	}
	at := first*panel + o%panel
	if from := w.Scales[row*scales:]; m.powers() {
		packPowers(m.scales[at:], from, n, groups, byte(math.Float32bits(w.Format.Unit())>>23)-127)
	} else {
		use.packing.halves(m.scales[2*at:], from, scales, n, groups)
	}
	if m.format == precision.Int4Z {
		packZeros(m.zeros[at:], w.Zeros[row*zeros:], n, groups, byte(f.zero))
	}
}

// packPowers transposes n rows of powers of two and adds the unit of the format;
// quant.Matrix.Check makes sure that they stay above zero.
func packPowers(to, from []byte, n, groups int, unit byte) {
	for i := range n {
		for g, e := range from[i*groups:][:groups] {
			to[g*panel+i] = e + unit
		}
	}
}

// packZeros transposes n rows of codes of four bits, the lower half of a byte first, and
// takes them from zero, which is at least 15.
func packZeros(to, from []byte, n, groups int, zero byte) {
	stride := (groups + 1) / 2
	for i := range n {
		for g := range groups {
			to[g*panel+i] = zero - from[i*stride+g/2]>>(g%2*4)&15
		}
	}
}

// In an expanded group of a panel a column is eight words of four weights, 256 bytes
// apart. The functions below pack columns c, c+1, … of n rows of codes, stride bytes
// apart, in the order of the expansions in fewbits_ref.go.

// packNibbles packs the lower halves of bytes before the upper ones.
func packNibbles(to, from []byte, c, n, stride int) {
	le := binary.LittleEndian
	for i := range n {
		row, column := from[i*stride:][:groupSize/2], to[4*(c+i):]
		a, b := le.Uint64(row), le.Uint64(row[8:])
		put8(column, spreadNibbles(a)|spreadNibbles(b)<<4)
		put8(column[8*panel:], spreadNibbles(a>>32)|spreadNibbles(b>>32)<<4)
	}
}

// packSixes packs the low four bits of codes as packNibbles does, and then the other two.
func packSixes(to, from []byte, c, n, stride int) {
	const low, high = 0x0f0f0f0f0f0f0f0f, 0x0303030303030303
	le := binary.LittleEndian
	for i := range n {
		row, column := from[i*stride:][:groupSize*3/4], to[4*(c+i):]
		x, y := spreadSixes(le.Uint64(row)), spreadSixes(le.Uint64(row[6:]))
		z, last := spreadSixes(le.Uint64(row[12:])), spreadSixes(le.Uint64(row[16:])>>16)
		put8(column, x&low|z&low<<4)
		put8(column[8*panel:], y&low|last&low<<4)
		put8(column[groupBytes/2:], x>>4&high|y>>4&high<<2|z>>4&high<<4|last>>4&high<<6)
	}
}

// put8 writes two words of a column.
func put8(to []byte, v uint64) {
	to = to[:4*panel+4]
	binary.LittleEndian.PutUint32(to, uint32(v))
	binary.LittleEndian.PutUint32(to[4*panel:], uint32(v>>32))
}

// spreadNibbles returns the eight codes in the lower half of v in a byte each.
func spreadNibbles(v uint64) uint64 {
	v = (v&(1<<32-1) | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	return (v | v<<4) & 0x0f0f0f0f0f0f0f0f
}

// spreadSixes returns the eight codes in the lower 48 bits of v in a byte each.
func spreadSixes(v uint64) uint64 {
	v = v&0x0000000000ffffff | v<<8&0x00ffffff00000000
	v = v&0x00000fff00000fff | v<<4&0x0fff00000fff0000
	return v&0x003f003f003f003f | v<<2&0x3f003f003f003f00
}
