package assistant

import (
	"context"

	"verity/decoder"
	"verity/tokenizer"
)

// A Bigram is an Assistant without a model: after each token it drafts the one that followed
// it most often in the text so far, prompt included. Of equals, it drafts the latest. It is
// the baseline in the papers.
type Bigram struct {
	// EOT is end-of-text. It ends a draft.
	EOT Token
}

// Open ignores the window.
func (b *Bigram) Open(Window) Drafter { return &bigram{eot: b.EOT} }

// StepBytes returns 0.
func (b *Bigram) StepBytes() int64 { return 0 }

type bigram struct {
	count map[[2]Token]int
	next  map[Token]Token // the most frequent next token
	last  Token
	eot   Token
}

func (b *bigram) Begin(o decoder.SessionOptions, _ Policy) {
	b.count, b.next, b.last = map[[2]Token]int{}, map[Token]Token{}, tokenizer.None
	b.Commit(o.Prompt)
}

func (*bigram) Close() {}

func (b *bigram) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	at := b.last
	for range limit {
		t, known := b.next[at]
		if !known || t == b.eot {
			break
		}
		dst, at = append(dst, t), t
	}
	return dst, nil
}

func (b *bigram) Commit(tokens []Token) {
	for _, t := range tokens {
		if b.last == tokenizer.None { // the very first
			b.last = t
			continue
		}
		pair := [2]Token{b.last, t}
		b.count[pair]++
		if best, known := b.next[b.last]; !known || b.count[pair] >= b.count[[2]Token{b.last, best}] {
			b.next[b.last] = t
		}
		b.last = t
	}
}
