package kernel

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// packedBy4 holds rounded activations for tiles that sum four products in 16 bits. Weights
// have 128 added and are at most 255, so the sum fits if the positive ones of four
// activations add up to at most maxHalfSum, and the negative ones too. Larger activations
// are outliers: x has a zero in their place, and their products are added to the finished
// sums. The 128 adds 128·Σx to each sum, which start subtracts.
type packedBy4 struct {
	x            []byte  // as int8, [depth/wordDepth][rows][wordDepth], or empty
	start        []int32 // of each row
	outlierCount []int32 // of each row; above maxOutliers there are too many
	outliers     []outlier
	large        []wordMask // of the word being set, for each row: groups of eight with outliers
	maxOutliers  int        // per row
}

// maxHalfSum bounds the sum of the positive, and of the negative, activations of four:
// 255·128 < 2¹⁵.
const maxHalfSum = 128

// A wordMask has a bit for each activation of a word. Of eight activations with outliers, at
// least one bit is set.
type wordMask [wordDepth / 32]uint32

// An outlier is four activations of a row that are summed apart from the others; some are
// zero. at is where the weights of their k begin in a panel.
type outlier struct {
	at          int32
	activations uint32
}

// resize makes room for rows rows of activations for w, if such tiles multiply them.
func (f *packedBy4) resize(rows int, w *Matrix) {
	f.x = f.x[:0]
	if depth := w.depth(); w.grouped == nil && use.int8s.tilePackedBy4 != nil && rows >= 3 && depth > 0 {
		f.x = Resize(f.x, (depth+wordDepth-1)/wordDepth*rows*wordDepth)
		f.maxOutliers = max(1, depth/8) // more of them cost more than the tiles save
		f.start, f.outlierCount = Resize(f.start, rows), Resize(f.outlierCount, rows)
		f.outliers, f.large = Resize(f.outliers, rows*f.maxOutliers), Resize(f.large, rows)
	}
}

// dropIfManyOutliers empties f if a row has too many outliers.
func (f *packedBy4) dropIfManyOutliers() {
	if len(f.x) > 0 && slices.Max(f.outlierCount) > int32(f.maxOutliers) {
		f.x = f.x[:0]
	}
}

// setRow sets row at to q.
func (f *packedBy4) setRow(at int, q []uint8) {
	rows, sum := len(f.start), int32(0)
	f.outlierCount[at] = 0
	for k := 0; k < len(q); k += wordDepth {
		n := min(wordDepth, len(q)-k)
		x := f.x[(k/wordDepth*rows+at)*wordDepth:][:wordDepth]
		clear(x[n : (n+7)&^7])
		found := &f.large[at]
		*found = wordMask{}
		sum += use.int8s.signed(x[:n], q[k:][:n], found)
		for i, set := range found {
			for set != 0 {
				eight := bits.TrailingZeros32(set) &^ 7
				sum -= f.removeOutliers(at, k+32*i+eight, x[32*i+eight:][:8], set>>eight)
				set &^= 0xff << eight
			}
		}
	}
	f.start[at] = -int8Zero * sum
}

// removeOutliers moves the outliers among eight activations of a row, the first of them at k,
// to the list, and returns their sum. Of four that do not fit it moves two that share a
// word, which is usually enough. set has the bits of their bytes.
func (f *packedBy4) removeOutliers(at, k int, eight []byte, set uint32) (sum int32) {
	words := [2]uint32{binary.LittleEndian.Uint32(eight), binary.LittleEndian.Uint32(eight[4:])}
	var taken [2]uint32
	for shift := 0; shift < 32; shift += 16 {
		if set>>(shift/8)&1 == 0 {
			continue
		}
		first, second := pair(words[0]>>shift), pair(words[1]>>shift)
		if first > maxHalfSum || first < -maxHalfSum || second <= maxHalfSum && second >= -maxHalfSum {
			taken[0] |= 0xffff << shift
			sum += first
		}
		if second > maxHalfSum || second < -maxHalfSum {
			taken[1] |= 0xffff << shift
			sum += second
		}
	}
	for i, mask := range taken {
		if mask == 0 {
			continue
		}
		binary.LittleEndian.PutUint32(eight[4*i:], words[i]&^mask)
		if n := int(f.outlierCount[at]); n < f.maxOutliers {
			f.outliers[at*f.maxOutliers+n] = outlier{int32((k + 4*i) * panel), words[i] & mask}
		}
		f.outlierCount[at]++
	}
	return sum
}

// pair returns the sum of the lowest two activations of a word.
func pair(word uint32) int32 { return int32(int8(word)) + int32(int8(word>>8)) }

// signedRef sets dst to x - int8Zero, and returns its sum. In found it sets the bits of four
// activations that do not fit.
func signedRef(dst []byte, x []uint8, found *wordMask) (sum int32) {
	var above, below [2]int32 // of eight activations
	for i, b := range x {
		v, word := int32(b)-int8Zero, i/2%2
		dst[i], sum = byte(v), sum+v
		above[word], below[word] = above[word]+max(v, 0), below[word]+max(-v, 0)
		if i%8 < 7 && i < len(x)-1 {
			continue
		}
		for word := range above {
			if above[word] > maxHalfSum || below[word] > maxHalfSum {
				found[i/32] |= 0b00110011 << (2*word + i%32&^7)
			}
		}
		above, below = [2]int32{}, [2]int32{}
	}
	return sum
}

// signedWith returns a signedRef that uses f for all multiples of 32.
func signedWith(f func(dst, x *uint8, n int, found *uint32) int32) func(dst []byte, x []uint8, found *wordMask) int32 {
	return func(dst []byte, x []uint8, found *wordMask) (sum int32) {
		n := len(x) &^ 31
		if n < len(x) {
			var rest wordMask
			sum = signedRef(dst[n:], x[n:], &rest)
			found[n/32] = rest[0]
		}
		if n > 0 {
			sum += f(&dst[0], &x[0], n, &found[0])
		}
		return sum
	}
}

// packedBy4Rows is the maximum number of rows that share the weights such a tile loads.
const packedBy4Rows = 11

// sumPackedBy4 is sumInt8 of activations that are packed by 4.
func (m *matmul) sumPackedBy4(acc []int32, p, first, rows int) {
	clear(acc)
	f, in := &m.rounded.packedBy4, m.w.depth()
	w := m.w.data[p*panel*in:][:panel*in]
	_, ahead := blocks(rows, in, panel, blockBytesInt8, m.depth)
	step := wordDepth
	if rows < manyRows {
		step /= 2
	}
	for k := 0; k < in; k += step {
		n, next := min(step, in-k), hint{ahead: ahead, block: rows < manyRows}
		if k+n == in && rows >= manyRows {
			next.dst, next.stride = m.goal(p, first, rows)
		}
		g := newRowGroups(rows, packedBy4Rows, 4*panel, n/4, next)
		x := f.x[(k/wordDepth*m.rows+first)*wordDepth+k%wordDepth:]
		for r := 0; r < rows; {
			some := g.next()
			next.prefetch(r, some)
			use.int8s.tilePackedBy4(&acc[r*panel], &x[r*wordDepth], wordDepth, &w[k*panel], n/4, g.ahead, g.pace, some)
			r += some
		}
	}
	use.int8s.outliers(&acc[0], &m.w.offset[p*panel], &f.start[first], &f.outliers[first*f.maxOutliers].at,
		&f.outlierCount[first], f.maxOutliers, &w[0], rows)
}
