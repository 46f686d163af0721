package tokenizer

import (
	"container/heap"
	"math"
	"slices"
)

// noRank is the rank of a pair that cannot be merged.
const noRank = math.MaxInt32

// A merger merges the bytes of pieces of text. A prompt or a text to draft from may be one word
// of megabytes, so it takes time n·log n: the parts are a linked list, and the pairs that can be
// merged wait in a heap, lowest rank first, then leftmost.
type merger struct {
	*bpe
	parts []part
	queue mergeQueue
}

// A part is a token that may still be merged; its bytes are piece[start:end]. Its end is 0 once it
// has been merged into the part before it.
type part struct {
	tok        Token
	start, end int
	prev, next int   // the parts beside it; -1 is none
	rank       int32 // of merging with the next part
	into       Token // what that gives
}

// appendPiece appends the tokens of one piece. It leaves out bytes without a token; bad is the
// index of the first, or -1.
func (m *merger) appendPiece(dst []Token, piece string) (toks []Token, bad int) {
	bad = slices.IndexFunc([]byte(piece), func(c byte) bool { return m.byteToken[c] == None })
	if m.keepsWhole || bad >= 0 {
		if tok, ok := m.ids[piece]; ok {
			return append(dst, tok), -1
		}
	}
	m.split(piece)
	for len(m.queue) > 0 {
		e := heap.Pop(&m.queue).(candidate)
		l := &m.parts[e.at]
		if l.rank != e.rank {
			continue // merged away, or its neighbour was
		}
		r := &m.parts[l.next]
		l.tok, l.end, l.next = l.into, r.end, r.next
		r.end, r.rank = 0, noRank
		if l.next >= 0 {
			m.parts[l.next].prev = e.at
		}
		m.rankPair(piece, e.at)
		if l.prev >= 0 {
			m.rankPair(piece, l.prev)
		}
	}
	for i := range m.parts {
		if m.parts[i].end > 0 {
			dst = append(dst, m.parts[i].tok)
		}
	}
	return dst, bad
}

// split makes a part of each byte that has a token.
func (m *merger) split(piece string) {
	m.parts = m.parts[:0]
	for i := range len(piece) {
		if tok := m.byteToken[piece[i]]; tok != None {
			n := len(m.parts)
			m.parts = append(m.parts, part{tok: tok, start: i, end: i + 1, prev: n - 1, next: n + 1})
		}
	}
	if n := len(m.parts); n > 0 {
		m.parts[n-1].next = -1
	}
	for i := range m.parts {
		m.rankPair(piece, i)
	}
}

// rankPair sets the rank and the product of merging a part with the next, and queues the pair.
// Entries queued earlier for the part remain; appendPiece skips them because their rank differs.
func (m *merger) rankPair(piece string, at int) {
	l := &m.parts[at]
	if l.rank = noRank; l.next < 0 {
		return
	}
	r := &m.parts[l.next]
	if m.pairs == nil {
		if tok, ok := m.ids[piece[l.start:r.end]]; ok {
			l.rank, l.into = int32(tok), tok
		}
	} else if p, ok := m.pairs[tokenPair{l.tok, r.tok}]; ok {
		l.rank, l.into = p.rank, p.tok
	}
	if l.rank != noRank {
		heap.Push(&m.queue, candidate{l.rank, at})
	}
}

// A candidate is a pair that can be merged: the part at an index and the next one.
type candidate struct {
	rank int32
	at   int
}

// A mergeQueue is a heap of pairs.
type mergeQueue []candidate

func (h mergeQueue) Len() int { return len(h) }
func (h mergeQueue) Less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].at < h[j].at
}
func (h mergeQueue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *mergeQueue) Push(e any)   { *h = append(*h, e.(candidate)) }

func (h *mergeQueue) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
