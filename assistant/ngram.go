package assistant

import (
	"cmp"
	"context"
	"slices"

	"verity/decoder"
)

// An NGram is an Assistant without a model: it drafts the tokens that followed the longest
// recent match of the last tokens in the text so far, prompt included. It costs next to
// nothing, and helps where speech repeats itself.
//
// Source: Saxena 2023, prompt lookup decoding.
type NGram struct {
	// Shortest is the minimum length of a match in tokens. 0 means 2.
	Shortest int

	// EOT is end-of-text. It ends a draft.
	EOT Token
}

// Open ignores the window.
func (l *NGram) Open(Window) Drafter {
	return &ngram{shortest: cmp.Or(l.Shortest, 2), eot: l.EOT}
}

// StepBytes returns 0.
func (l *NGram) StepBytes() int64 { return 0 }

type ngram struct {
	text     []Token
	shortest int
	eot      Token
}

func (l *ngram) Begin(o decoder.SessionOptions, _ Policy) { l.text = append(l.text[:0], o.Prompt...) }

func (*ngram) Close() {}

func (l *ngram) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	from := l.match()
	if from < 0 {
		return dst, nil
	}
	draft := l.text[from:min(len(l.text), from+max(limit, 0))]
	if end := slices.Index(draft, l.eot); end >= 0 {
		draft = draft[:end]
	}
	return append(dst, draft...), nil
}

// match returns the index after the most recent earlier occurrence of the longest possible
// suffix of the text, or -1.
func (l *ngram) match() int {
	const longest = 4
	for n := min(longest, len(l.text)-1); n >= l.shortest; n-- {
		tail := l.text[len(l.text)-n:]
		for at := len(l.text) - n - 1; at >= 0; at-- {
			if slices.Equal(l.text[at:at+n], tail) {
				return at + n
			}
		}
	}
	return -1
}

func (l *ngram) Commit(kept []Token) { l.text = append(l.text, kept...) }
