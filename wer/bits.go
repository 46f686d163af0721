package wer

import (
	"context"
	"math/bits"
	"slices"
)

// The distance table D[i][j], between the first i words of ref and the first j
// of hyp, is computed one hyp word at a time and 64 ref words at a time: two bits
// per cell say whether D rises or falls by one from i to i+1.
//
// A path of at most limit edits to the end of both texts has (limit+m-n)/2 insertions and
// (limit-m+n)/2 deletions at most, so only the blocks of 64 with cells that such a path can
// reach are computed, pretending that D rises by one wherever the band ends. Those are upper
// bounds, and every cell that lies on a shortest path keeps its true value.
//
// Source: Myers, JACM 46(3), 1999; Hyyrö, "A bit-vector algorithm for computing
// Levenshtein and Damerau edit distances", 2003, in blocks.

// columns holds the positions of each word in a text: for every word a mask for every
// block of 64 positions with it. Memory is at most linear in the length of the text.
type columns struct {
	n, blocks int
	masks     map[int32][]mask
}

type mask struct {
	block int
	bits  uint64
}

func (m mask) compare(block int) int { return m.block - block }

func (c *columns) build(ref []int32) {
	c.n, c.blocks = len(ref), (len(ref)+63)/64
	c.masks = make(map[int32][]mask)
	for i, w := range ref {
		list := c.masks[w]
		if last := len(list) - 1; last < 0 || list[last].block < i/64 {
			list = append(list, mask{block: i / 64})
		}
		list[len(list)-1].bits |= 1 << (i % 64)
		c.masks[w] = list
	}
}

// A table computes D row by row and, after fill, remembers the bits of all rows.
type table struct {
	ctx        context.Context
	err        error // the cause that ended ctx, once known
	dels, inss int   // the most on a path
	blocks     int
	vp, vn     []uint64 // the current row: D rises, D falls; one per block
	eq         []uint64 // the positions of the current word, zero between rows

	stride int
	ups    []uint64 // [row][stride] of vp, each row from its first block on
	downs  []uint64 // likewise of vn
}

// ended reports whether ctx has ended. It looks from time to time: rows take microseconds.
func (t *table) ended(row int) bool {
	if row%256 == 0 && t.err == nil {
		t.err = context.Cause(t.ctx)
	}
	return t.err != nil
}

// start prepares the row before the first word, D[i][0] = i, for paths of at most limit edits
// to the end of a hyp of m words.
func (t *table) start(c *columns, m, limit int) {
	t.dels, t.inss, t.blocks = (limit-m+c.n)/2, (limit+m-c.n)/2, c.blocks
	t.vp, t.vn, t.eq = resize(t.vp, c.blocks), resize(t.vn, c.blocks), resize(t.eq, c.blocks)
	for b := range t.vp {
		t.vp[b], t.vn[b], t.eq[b] = ^uint64(0), 0, 0
	}
}

// band returns the first and last block with cells i, i+1 that the row of
// hyp[j] needs.
func (t *table) band(j int) (first, last int) {
	return max(0, j-t.inss) / 64, min(t.blocks-1, (j+t.dels)/64)
}

// step turns the row before word w into the row after it, in blocks first to last. A
// block that enters the band still says "rises by one" throughout.
func (t *table) step(c *columns, w int32, first, last int) {
	masks := c.masks[w]
	from, _ := slices.BinarySearchFunc(masks, first, mask.compare)
	to, _ := slices.BinarySearchFunc(masks, last+1, mask.compare)
	masks = masks[from:to]
	for _, m := range masks {
		t.eq[m.block] = m.bits
	}
	up, down := uint64(1), uint64(0) // D[i][j+1]-D[i][j] at the left edge is +1
	vps := t.vp[first : last+1]
	vns, eqs := t.vn[first:][:len(vps)], t.eq[first:][:len(vps)]
	for b, vp := range vps {
		vn, x := vns[b], eqs[b]|down
		d0 := ((x & vp) + vp) ^ vp | x | vn
		hp := vn | ^(d0 | vp)
		hn := d0 & vp
		hp, up = hp<<1|up, hp>>63
		hn, down = hn<<1|down, hn>>63
		vps[b], vns[b] = hn|^(d0|hp), hp&d0
	}
	for _, m := range masks {
		t.eq[m.block] = 0
	}
}

// fill computes the table of hyp against the indexed words and keeps its bits.
func (t *table) fill(c *columns, hyp []int32, limit int) {
	t.start(c, len(hyp), limit)
	t.stride = min(c.blocks, (t.dels+t.inss)/64+2)
	t.ups, t.downs = resize(t.ups, t.stride*len(hyp)), resize(t.downs, t.stride*len(hyp))
	for j, w := range hyp {
		first, last := t.band(j)
		if t.ended(j) {
			return
		}
		t.step(c, w, first, last)
		copy(t.ups[j*t.stride:], t.vp[first:last+1])
		copy(t.downs[j*t.stride:], t.vn[first:last+1])
	}
}

// up reports whether D rises from i to i+1 after hyp[j], down whether it falls.
func (t *table) up(i, j int) bool   { return t.bit(t.ups, i, j) }
func (t *table) down(i, j int) bool { return t.bit(t.downs, i, j) }

// bit reads one cell; outside the band nothing is on a shortest path.
func (t *table) bit(rows []uint64, i, j int) bool {
	first, last := t.band(j)
	b := i / 64
	return first <= b && b <= last && rows[j*t.stride+b-first]>>(i%64)&1 == 1
}

// far stands for a distance outside the band, larger than every real one. Two of them fit
// an int of 32 bits.
const far = 1 << 29

// row appends D[0..n][rows] to dst, within the band of the whole hyp. Once the context has ended,
// it still appends n+1 numbers, but they have no meaning.
func (t *table) row(c *columns, hyp []int32, rows, limit int, dst []int) []int {
	t.start(c, len(hyp), limit)
	edge, at := 0, 0 // D at the left edge of the band, and the block it begins
	for j, w := range hyp[:rows] {
		first, last := t.band(j)
		for ; at < first; at++ {
			edge += bits.OnesCount64(t.vp[at]) - bits.OnesCount64(t.vn[at])
		}
		if t.ended(j) {
			break
		}
		t.step(c, w, first, last)
		edge++
	}
	_, last := t.band(rows - 1)
	for range at * 64 {
		dst = append(dst, far)
	}
	dst = append(dst, edge)
	for i := at * 64; i < c.n; i++ {
		if b := i / 64; b <= last {
			edge += int(t.vp[b]>>(i%64)&1) - int(t.vn[b]>>(i%64)&1)
		} else {
			edge = far
		}
		dst = append(dst, edge)
	}
	return dst
}

// resize returns s with length n, its content undefined.
func resize(s []uint64, n int) []uint64 {
	return slices.Grow(s[:0], n)[:n]
}
