package tokenizer

import (
	"fmt"
	"math"
	"slices"
)

// A bpe is a byte-level vocabulary and its merges.
//
// A piece of text starts as one token per byte. As long as two neighbours can be merged,
// the pair of lowest rank is merged, the leftmost of equals first. In a rank table any
// pair may be merged whose bytes together are a token, and the id of that token is the
// rank (tiktoken). With a list of merges the pair itself must be listed, and its place in
// the list is the rank (Hugging Face).
type bpe struct {
	text   []string         // the bytes of each token; "" where known is false
	known  []bool           // which ids are text tokens; nil for all
	ids    map[string]Token // the token of these bytes
	single [256]Token       // the token of a byte, None if there is none
	pairs  map[pair]merge   // nil for a rank table
	whole  bool             // a piece that is a token as it stands is not merged
}

// A pair is two tokens side by side.
type pair struct{ left, right Token }

// A merge is what a pair becomes, and how early.
type merge struct {
	rank int32
	tok  Token
}

// noRank is the rank of a pair that cannot be merged.
const noRank = math.MaxInt32

// newBPE indexes the text tokens. Of two with equal bytes the first counts. A known token
// may be empty: the last one of openai's multilingual table is.
func newBPE(text []string, known []bool) *bpe {
	b := &bpe{text: text, known: known, ids: make(map[string]Token, len(text))}
	for i := range b.single {
		b.single[i] = None
	}
	for i, s := range slices.Backward(text) { // backward, so that the first of equals is set last
		if !b.has(Token(i)) {
			continue
		}
		b.ids[s] = Token(i)
		if len(s) == 1 {
			b.single[s[0]] = Token(i)
		}
	}
	return b
}

// has reports whether tok is one of the text tokens.
func (b *bpe) has(tok Token) bool {
	return tok >= 0 && int(tok) < len(b.text) && (b.known == nil || b.known[tok])
}

// encode returns the tokens of s and the index of the first byte without a token, which
// it leaves out, or -1.
func (b *bpe) encode(s string) (toks []Token, bad int) {
	toks, bad = make([]Token, 0, len(s)/3+1), -1
	c := classes()
	for at := 0; at < len(s); {
		n := c.piece(s[at:])
		missing := -1
		toks, missing = b.appendPiece(toks, s[at:at+n])
		if missing >= 0 && bad < 0 {
			bad = at + missing
		}
		at += n
	}
	return toks, bad
}

// appendPiece appends the tokens of one piece.
func (b *bpe) appendPiece(dst []Token, piece string) (toks []Token, bad int) {
	bad = b.missing(piece)
	if b.whole || bad >= 0 {
		if tok, ok := b.ids[piece]; ok {
			return append(dst, tok), -1
		}
	}
	if len(piece) <= shortPiece {
		return b.mergeShort(dst, piece), bad
	}
	return b.mergeLong(dst, piece), bad
}

// missing returns the index of the first byte of s without a token, or -1.
func (b *bpe) missing(s string) int {
	for i := range len(s) {
		if b.single[s[i]] == None {
			return i
		}
	}
	return -1
}

// unspellable returns the error for byte at of text, which has no token.
func unspellable(text string, at int) error {
	return &Error{
		Thing:  fmt.Sprintf("byte %d of the text", at),
		Err:    ErrUnspellable,
		Got:    fmt.Sprintf("%q", text[at:min(at+12, len(text))]),
		Remedy: "this vocabulary has no token for every byte: use words it has",
	}
}

// A part is a token that may still be merged; its bytes are piece[start:end].
type part struct {
	tok        Token
	start, end int32
	rank       int32 // of merging with the next part
	into       Token // what that gives
}

// rate sets the rank and product of merging l with r.
func (b *bpe) rate(piece string, l, r *part) {
	if b.pairs == nil {
		if tok, ok := b.ids[piece[l.start:r.end]]; ok {
			l.rank, l.into = int32(tok), tok
			return
		}
	} else if m, ok := b.pairs[pair{l.tok, r.tok}]; ok {
		l.rank, l.into = m.rank, m.tok
		return
	}
	l.rank = noRank
}

// split returns the bytes of piece as unmerged parts, appended to dst.
func (b *bpe) split(dst []part, piece string) []part {
	for i := range len(piece) {
		if tok := b.single[piece[i]]; tok != None {
			dst = append(dst, part{tok: tok, start: int32(i), end: int32(i + 1), rank: noRank})
		}
	}
	for i := 0; i+1 < len(dst); i++ {
		b.rate(piece, &dst[i], &dst[i+1])
	}
	return dst
}

// shortPiece is the longest piece, in bytes, for which mergeShort is faster.
const shortPiece = 48

// mergeShort merges piece in time quadratic in its length. It is the definition
// of merging; mergeLong must give the same.
func (b *bpe) mergeShort(dst []Token, piece string) []Token {
	var buf [shortPiece]part
	parts := b.split(buf[:0], piece)
	for {
		at, best := 0, int32(noRank)
		for i := range parts {
			if parts[i].rank < best {
				at, best = i, parts[i].rank
			}
		}
		if best == noRank {
			break
		}
		l := &parts[at]
		l.tok, l.end, l.rank = l.into, parts[at+1].end, noRank
		parts = append(parts[:at+1], parts[at+2:]...)
		if at+1 < len(parts) {
			b.rate(piece, l, &parts[at+1])
		}
		if at > 0 {
			b.rate(piece, &parts[at-1], l)
		}
	}
	for i := range parts {
		dst = append(dst, parts[i].tok)
	}
	return dst
}
