package tokenizer

import (
	"math"
	"slices"
)

// noRank is the rank of a pair that cannot be merged.
const noRank = math.MaxInt32

// A part is a token of piece[start:end] that may still be merged.
type part struct {
	tok        Token
	start, end int
	rank       int32 // of merging with the next part
	into       Token // what that gives
}

// appendPiece appends the tokens of one piece. It leaves out bytes without a token; bad is the
// index of the first, or -1.
func (b *bpe) appendPiece(dst []Token, piece string) (toks []Token, bad int) {
	bad = slices.IndexFunc([]byte(piece), func(c byte) bool { return b.byteToken[c] == None })
	if b.keepsWhole || bad >= 0 {
		if tok, ok := b.ids[piece]; ok {
			return append(dst, tok), -1
		}
	}
	for _, p := range b.merge(piece) {
		dst = append(dst, p.tok)
	}
	return dst, bad
}

// merge returns the parts of a piece that nothing merges any more. It begins with a part for
// each byte that has a token.
func (b *bpe) merge(piece string) []part {
	parts := make([]part, 0, len(piece))
	for i := range len(piece) {
		if tok := b.byteToken[piece[i]]; tok != None {
			parts = append(parts, part{tok: tok, start: i, end: i + 1, rank: noRank})
		}
	}
	for i := range len(parts) - 1 {
		b.rankPair(piece, &parts[i], parts[i+1])
	}
	for {
		lowest := int32(noRank)
		for _, p := range parts {
			lowest = min(lowest, p.rank)
		}
		if lowest == noRank {
			return parts
		}
		parts = b.mergeRank(piece, parts, lowest)
	}
}

// mergeRank merges the pairs of the lowest rank from left to right. It stops after a merge that
// gives a pair that precedes the others: one of a lower rank, or one of the same rank further
// left. One pass for all pairs of a rank is fast enough for words of megabytes.
func (b *bpe) mergeRank(piece string, parts []part, rank int32) []part {
	out, stop := parts[:0], false
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if p.rank == rank && !stop {
			i++
			p.tok, p.end, p.rank = p.into, parts[i].end, noRank
			if i+1 < len(parts) {
				b.rankPair(piece, &p, parts[i+1])
			}
			stop = p.rank <= rank
			if last := len(out) - 1; last >= 0 {
				b.rankPair(piece, &out[last], p)
				stop = stop || out[last].rank <= rank
			}
		}
		out = append(out, p)
	}
	return out
}

// rankPair sets the rank and the product of merging a part with the next.
func (b *bpe) rankPair(piece string, l *part, r part) {
	l.rank = noRank
	if b.pairs == nil {
		if tok, ok := b.ids[piece[l.start:r.end]]; ok {
			l.rank, l.into = int32(tok), tok
		}
	} else if p, ok := b.pairs[tokenPair{l.tok, r.tok}]; ok {
		l.rank, l.into = p.rank, p.tok
	}
}
