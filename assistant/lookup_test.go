package assistant

import (
	"slices"
	"testing"

	"verity/decoder"
)

// TestLookup: what followed the longest match of the last tokens, the most recent of
// several, up to the limit and to an end-of-text.
func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lookup Lookup
		text   []Token
		limit  int
		want   []Token
	}{
		{"nothing came before", Lookup{}, []Token{1, 2, 3, 4}, 5, nil},
		{"one token is no match", Lookup{}, []Token{1, 2, 9, 1}, 5, nil},
		{"unless it is to be", Lookup{Shortest: 1}, []Token{1, 2, 9, 1}, 2, []Token{2, 9}},
		{"the most recent", Lookup{}, []Token{1, 2, 7, 1, 2, 8, 1, 2}, 3, []Token{8, 1, 2}},
		{"the longest, though less recent", Lookup{}, []Token{5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2}, 1, []Token{7}},
		{"no longer than asked for", Lookup{Longest: 2}, []Token{5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2}, 1, []Token{8}},
		{"a match may overlap the end", Lookup{}, []Token{3, 3, 3, 3}, 5, []Token{3}},
		{"up to an end-of-text", Lookup{EOT: 4}, []Token{1, 2, 7, 4, 8, 1, 2}, 5, []Token{7}},
		{"no room", Lookup{}, []Token{1, 2, 7, 1, 2}, 0, nil},
	} {
		for cut := 1; cut <= len(tt.text); cut++ { // prompt, and what was kept behind it
			p := tt.lookup.Listen(Window{}).Begin(decoder.SessionOptions{Prompt: tt.text[:cut]}, nil)
			if err := p.Commit(t.Context(), tt.text[cut:]); err != nil {
				t.Fatal(err)
			}
			if tt.lookup.EOT == 0 { // 0 is no token of these
				p.(*lookup).eot = -1
			}
			got, err := p.Propose(t.Context(), []Token{99}, tt.limit)
			if err != nil || !slices.Equal(got, append([]Token{99}, tt.want...)) {
				t.Errorf("%s: %v, %v, want 99 and %v", tt.name, got, err, tt.want)
			}
		}
	}
}
