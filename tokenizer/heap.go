package tokenizer

import "slices"

// mergeLong is mergeShort in time n·log n: the parts are a linked list, and the
// pairs that can be merged wait in a heap, lowest rank first, then leftmost.
func (b *bpe) mergeLong(dst []Token, piece string) []Token {
	l := newPartList(b.split(make([]part, 0, len(piece)), piece))
	for len(l.waiting) > 0 {
		at, rank := l.pop()
		if l.parts[at].rank != rank {
			continue // merged away, or its neighbour was
		}
		l.merge(at)
		if next := l.next[at]; next >= 0 {
			b.rate(piece, &l.parts[at], &l.parts[next])
			l.push(at)
		}
		if prev := l.prev[at]; prev >= 0 {
			b.rate(piece, &l.parts[prev], &l.parts[at])
			l.push(prev)
		}
	}
	for i := range l.parts {
		if l.parts[i].end > 0 {
			dst = append(dst, l.parts[i].tok)
		}
	}
	return dst
}

// A partList links parts to their neighbours; -1 is none. A part that has been
// merged into the one before it has end 0 and rank noRank.
type partList struct {
	parts      []part
	prev, next []int32
	waiting    rankHeap
}

func newPartList(parts []part) *partList {
	n := len(parts)
	l := &partList{parts: parts, prev: make([]int32, n), next: make([]int32, n)}
	for i := range parts {
		l.prev[i], l.next[i] = int32(i-1), int32(i+1)
		if r := parts[i].rank; r != noRank {
			l.waiting = append(l.waiting, uint64(r)<<32|uint64(i))
		}
	}
	if n > 0 {
		l.next[n-1] = -1
	}
	slices.Sort(l.waiting) // sorted is a heap
	return l
}

// merge replaces part at and the one after it by their merged part.
func (l *partList) merge(at int32) {
	gone := l.next[at]
	p, q := &l.parts[at], &l.parts[gone]
	p.tok, p.end, p.rank = p.into, q.end, noRank
	q.end, q.rank = 0, noRank
	l.next[at] = l.next[gone]
	if next := l.next[at]; next >= 0 {
		l.prev[next] = at
	}
}

// push queues the merge of the part at with the next, if there is one. An entry
// queued earlier for the same part stays behind; pop's caller tells it by its
// rank.
func (l *partList) push(at int32) {
	if r := l.parts[at].rank; r != noRank {
		l.waiting.push(uint64(r)<<32 | uint64(at))
	}
}

// pop returns the part to merge first, and the rank it was queued with.
func (l *partList) pop() (at, rank int32) {
	e := l.waiting.pop()
	return int32(uint32(e)), int32(e >> 32)
}

// A rankHeap is a binary heap of rank<<32 | place, the least first. (Unlike
// container/heap, it does not allocate per entry.)
type rankHeap []uint64

func (h *rankHeap) push(e uint64) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up] <= s[i] {
			break
		}
		s[up], s[i], i = s[i], s[up], up
	}
}

// pop takes the least entry. h must not be empty.
func (h *rankHeap) pop() uint64 {
	s := *h
	least, n := s[0], len(s)-1
	s[0] = s[n]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < n && s[down+1] < s[down] {
			down++
		}
		if down >= n || s[i] <= s[down] {
			break
		}
		s[i], s[down], i = s[down], s[i], down
	}
	*h = s[:n]
	return least
}
