package assistant

import (
	"slices"
	"testing"

	"verity/decoder"
)

// TestNGram checks that the draft follows the longest match of the last tokens, the most
// recent of several, up to the limit and to an end-of-text.
func TestNGram(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ngram NGram
		text  []Token
		limit int
		want  []Token
	}{
		{"nothing came before", NGram{}, []Token{1, 2, 3, 4}, 5, nil},
		{"one token is no match", NGram{}, []Token{1, 2, 9, 1}, 5, nil},
		{"unless it is to be", NGram{Shortest: 1}, []Token{1, 2, 9, 1}, 2, []Token{2, 9}},
		{"the most recent", NGram{}, []Token{1, 2, 7, 1, 2, 8, 1, 2}, 3, []Token{8, 1, 2}},
		{"the longest, though less recent", NGram{}, []Token{5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2}, 1, []Token{7}},
		{"a match may overlap the end", NGram{}, []Token{3, 3, 3, 3}, 5, []Token{3}},
		{"up to an end-of-text", NGram{EOT: 4}, []Token{1, 2, 7, 4, 8, 1, 2}, 5, []Token{7}},
		{"no room", NGram{}, []Token{1, 2, 7, 1, 2}, 0, nil},
	} {
		for cut := 1; cut <= len(tt.text); cut++ { // prompt, and what was kept after it
			p := tt.ngram.Open(Window{})
			p.Begin(decoder.SessionOptions{Prompt: tt.text[:cut]}, nil)
			p.Commit(tt.text[cut:])
			if tt.ngram.EOT == 0 { // 0 is no token of these
				p.(*ngram).eot = -1
			}
			got, err := p.Propose(t.Context(), []Token{99}, tt.limit)
			if err != nil || !slices.Equal(got, append([]Token{99}, tt.want...)) {
				t.Errorf("%s: %v, %v, want 99 and %v", tt.name, got, err, tt.want)
			}
		}
	}
}
