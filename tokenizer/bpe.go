package tokenizer

import "slices"

// A bpe is a byte-level vocabulary and its merges.
//
// A piece of text starts as one token per byte. While two neighbours can be merged, the pair of
// lowest rank is, the leftmost of equals first. With a rank table, a pair can be merged if its
// bytes together are a token, whose id is the rank (tiktoken). With a list of merges, the pair
// itself must be listed, and its index is the rank (Hugging Face).
type bpe struct {
	text       []string            // the bytes of each token; "" where known is false
	known      []bool              // which ids are text tokens; nil for all
	ids        map[string]Token    // the token of these bytes
	byteToken  [256]Token          // the token of a byte, None if there is none
	pairs      map[tokenPair]merge // nil with a rank table
	keepsWhole bool                // a piece that is itself a token is not built from merges
}

// A pair is two tokens side by side.
type tokenPair struct{ left, right Token }

// A merge is the token that a pair becomes, and its rank.
type merge struct {
	rank int32
	tok  Token
}

// newBPE indexes the text tokens. Of two with the same bytes, the first counts. A known token may
// be empty, as the last one of openai's multilingual table is.
func newBPE(text []string, known []bool, whole bool) *bpe {
	b := &bpe{text: text, known: known, keepsWhole: whole, ids: make(map[string]Token, len(text))}
	for i := range b.byteToken {
		b.byteToken[i] = None
	}
	for i, s := range slices.Backward(text) { // backward, so that the first of equals is set last
		if !b.has(Token(i)) {
			continue
		}
		b.ids[s] = Token(i)
		if len(s) == 1 {
			b.byteToken[s[0]] = Token(i)
		}
	}
	return b
}

func (b *bpe) has(tok Token) bool {
	return tok >= 0 && int(tok) < len(b.text) && (b.known == nil || b.known[tok])
}

// encode returns the tokens of s. It leaves out bytes without a token; bad is the index of the
// first, or -1.
func (b *bpe) encode(s string) (toks []Token, bad int) {
	toks, bad = make([]Token, 0, len(s)/3+1), -1
	for at := 0; at < len(s); {
		n := pieceLength(s[at:])
		missing := -1
		toks, missing = b.appendPiece(toks, s[at:at+n])
		if missing >= 0 && bad < 0 {
			bad = at + missing
		}
		at += n
	}
	return toks, bad
}
