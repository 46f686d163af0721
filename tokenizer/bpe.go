package tokenizer

import "slices"

// A bpe is a byte-level vocabulary and its merges.
//
// A piece of text starts as one token per byte. As long as two neighbours can be merged,
// the pair of lowest rank is merged, the leftmost of equals first. In a rank table any
// pair may be merged whose bytes together are a token, and the id of that token is the
// rank (tiktoken). With a list of merges the pair itself must be listed, and its place in
// the list is the rank (Hugging Face).
type bpe struct {
	text       []string            // the bytes of each token; "" where known is false
	known      []bool              // which ids are text tokens; nil for all
	ids        map[string]Token    // the token of these bytes
	byteToken  [256]Token          // the token of a byte, None if there is none
	pairs      map[tokenPair]merge // nil for a rank table
	keepsWhole bool                // a piece that is a token as it stands is not merged
}

// A pair is two tokens side by side.
type tokenPair struct{ left, right Token }

// A merge is what a pair becomes, and how early.
type merge struct {
	rank int32
	tok  Token
}

// newBPE indexes the text tokens. Of two with equal bytes the first counts. A known token
// may be empty: the last one of openai's multilingual table is.
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

// encode returns the tokens of s and the index of the first byte without a token, which
// it leaves out, or -1.
func (b *bpe) encode(s string) (toks []Token, bad int) {
	toks, bad = make([]Token, 0, len(s)/3+1), -1
	m := merger{bpe: b}
	for at := 0; at < len(s); {
		n := pieceLength(s[at:])
		missing := -1
		toks, missing = m.appendPiece(toks, s[at:at+n])
		if missing >= 0 && bad < 0 {
			bad = at + missing
		}
		at += n
	}
	return toks, bad
}
