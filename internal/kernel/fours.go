package kernel

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// fours is rounded activations for tiles that sum four products in 16 bits, which have room
// for them if the positive ones of four activations add up to at most mostFours, and so do
// the negative ones: weights have 128 added and are at most 255. What is too large is an
// outlier: x holds a zero in its place, and its products are added to finished sums. In
// sums of all of these the 128 counts as often as x adds up to, which start takes off.
type fours struct {
	x        []byte  // as int8, [depth/wordDepth][rows][wordDepth], or empty
	start    []int32 // of each row
	count    []int32 // outliers of each row, or above most: of some row there are too many
	outliers []outlier
	found    []eights // of the words of each row that are looked at
	most     int      // of a row
}

// mostFours is how much half of the sums of four activations may be: 255·128 < 2¹⁵.
const mostFours = 128

// eights has a bit for each activation of a word: one is set in eight that have outliers.
type eights [wordDepth / 32]uint32

// An outlier is four activations, of which some are not zero, apart from the others of a row.
// at is where the weights of their k begin in a panel.
type outlier struct {
	at   int32
	four uint32
}

// size makes room for rows rows of activations for w, if such tiles do them.
func (f *fours) size(rows int, w *Matrix) {
	f.x = f.x[:0]
	if depth := w.depth(); w.grouped == nil && use.int8s.fours != nil && rows >= 3 && depth > 0 {
		f.x = resize(f.x, (depth+wordDepth-1)/wordDepth*rows*wordDepth)
		f.most = max(1, depth/8) // with more of them nothing is won
		f.start, f.count = resize(f.start, rows), resize(f.count, rows)
		f.outliers, f.found = resize(f.outliers, rows*f.most), resize(f.found, rows)
	}
}

// check empties f if a row has too many outliers.
func (f *fours) check() {
	if len(f.x) > 0 && slices.Max(f.count) > int32(f.most) {
		f.x = f.x[:0]
	}
}

// put sets row at to q.
func (f *fours) put(at int, q []uint8) {
	rows, sum := len(f.start), int32(0)
	f.count[at] = 0
	for k := 0; k < len(q); k += wordDepth {
		n := min(wordDepth, len(q)-k)
		x := f.x[(k/wordDepth*rows+at)*wordDepth:][:wordDepth]
		clear(x[n : (n+7)&^7])
		found := &f.found[at]
		*found = eights{}
		sum += use.int8s.signed(x[:n], q[k:][:n], found)
		for i, set := range found {
			for set != 0 {
				eight := bits.TrailingZeros32(set) &^ 7
				sum -= f.take(at, k+32*i+eight, x[32*i+eight:][:8], set>>eight)
				set &^= 0xff << eight
			}
		}
	}
	f.start[at] = -int8Zero * sum
}

// take takes the outliers of row at out of eight activations, which begin at k: of four for
// which there is no room two that share a word, which are room enough as a rule. It returns
// what they add up to. set has the bits of their bytes.
func (f *fours) take(at, k int, eight []byte, set uint32) (sum int32) {
	words := [2]uint32{binary.LittleEndian.Uint32(eight), binary.LittleEndian.Uint32(eight[4:])}
	var taken [2]uint32
	for shift := 0; shift < 32; shift += 16 {
		if set>>(shift/8)&1 == 0 {
			continue
		}
		first, second := pair(words[0]>>shift), pair(words[1]>>shift)
		if first > mostFours || first < -mostFours || second <= mostFours && second >= -mostFours {
			taken[0] |= 0xffff << shift
			sum += first
		}
		if second > mostFours || second < -mostFours {
			taken[1] |= 0xffff << shift
			sum += second
		}
	}
	for i, mask := range taken {
		if mask == 0 {
			continue
		}
		binary.LittleEndian.PutUint32(eight[4*i:], words[i]&^mask)
		if n := int(f.count[at]); n < f.most {
			f.outliers[at*f.most+n] = outlier{int32((k + 4*i) * panel), words[i] & mask}
		}
		f.count[at]++
	}
	return sum
}

// pair returns the sum of the lowest two activations of a word.
func pair(word uint32) int32 { return int32(int8(word)) + int32(int8(word>>8)) }

// signedRef sets dst to x less int8Zero, and returns its sum. In found it sets the bits of
// four activations for which there is no room.
func signedRef(dst []byte, x []uint8, found *eights) (sum int32) {
	var above, below [2]int32 // of eight activations
	for i, b := range x {
		v, word := int32(b)-int8Zero, i/2%2
		dst[i], sum = byte(v), sum+v
		above[word], below[word] = above[word]+max(v, 0), below[word]+max(-v, 0)
		if i%8 < 7 && i < len(x)-1 {
			continue
		}
		for word := range above {
			if above[word] > mostFours || below[word] > mostFours {
				found[i/32] |= 0b00110011 << (2*word + i%32&^7)
			}
		}
		above, below = [2]int32{}, [2]int32{}
	}
	return sum
}

// signedWith returns signedRef, by f as far as it goes.
func signedWith(f func(dst, x *uint8, n int, found *uint32) int32) func(dst []byte, x []uint8, found *eights) int32 {
	return func(dst []byte, x []uint8, found *eights) (sum int32) {
		n := len(x) &^ 31
		if n < len(x) {
			var rest eights
			sum = signedRef(dst[n:], x[n:], &rest)
			found[n/32] = rest[0]
		}
		if n > 0 {
			sum += f(&dst[0], &x[0], n, &found[0])
		}
		return sum
	}
}

// foursRows is the most rows that share the weights that such a tile loads.
const foursRows = 11

// sumFours is sumInt8 of activations that are held as fours.
func (t *matmul) sumFours(acc []int32, p, first, rows int) {
	clear(acc)
	f, in := &t.rounded.fours, t.w.depth()
	w := t.w.data[p*panel*in:][:panel*in]
	_, ahead := blocks(rows, in, panel, blockBytesInt8, t.depth)
	step := wordDepth
	if rows < manyRows {
		step /= 2
	}
	for k := 0; k < in; k += step {
		n, next := min(step, in-k), hint{ahead: ahead, block: rows < manyRows}
		if k+n == in && rows >= manyRows {
			next.dst, next.stride = t.goal(p, first, rows)
		}
		g := newRowGroups(rows, foursRows, 4*panel, n/4, next)
		x := f.x[(k/wordDepth*t.rows+first)*wordDepth+k%wordDepth:]
		for r := 0; r < rows; {
			some := g.next()
			next.fetch(r, some)
			use.int8s.fours(&acc[r*panel], &x[r*wordDepth], wordDepth, &w[k*panel], n/4, g.ahead, g.pace, some)
			r += some
		}
	}
	use.int8s.outliers(&acc[0], &t.w.offset[p*panel], &f.start[first], &f.outliers[first*f.most].at, &f.count[first], f.most, &w[0], rows)
}
