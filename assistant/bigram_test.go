package assistant

import (
	"slices"
	"testing"

	"verity/decoder"
)

func TestBigram(t *testing.T) {
	const end = 99
	for _, tt := range []struct {
		name   string
		prompt []Token
		kept   []Token
		want   []Token
		why    string
	}{
		{"nothing known", []Token{1}, []Token{2, 3}, nil, "3 was never followed"},
		{"prompt counts", []Token{3, 4, 5}, []Token{3}, []Token{4, 5, 3, 4}, "and a chain may go round"},
		{"most frequent", []Token{1, 2, 1, 2, 1, 3}, []Token{1}, []Token{2, 1, 2, 1}, "2 followed 1 twice, 3 once"},
		{"latest of equals", []Token{1, 2, 1, 3}, []Token{1}, []Token{3, 1, 3, 1}, "2 and 3 followed 1 once each"},
		{"no prompt", nil, []Token{1, 2, 1}, []Token{2, 1, 2, 1}, "the first token follows none"},
		{"nothing at all", nil, nil, nil, "there is no token to follow"},
		{"end", []Token{1, end, 7}, []Token{1}, nil, "end-of-text is not drafted"},
	} {
		p := (&Bigram{EOT: end}).Open(Window{})
		p.Begin(decoder.SessionOptions{Prompt: tt.prompt}, nil)
		p.Commit(tt.kept)
		got, err := p.Propose(t.Context(), nil, 4)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: drafted %v, want %v: %s", tt.name, got, tt.want, tt.why)
		}
	}
}
