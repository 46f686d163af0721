package transcribe

import (
	"slices"
	"testing"

	"verity/tokenizer"
)

// TestSpell: as many words from one on are spelled as there is room for, and the others keep their tokens.
func TestSpell(t *testing.T) {
	tok, err := tokenizer.Embedded(tokenizer.VocabMultilingual)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Tokenizer: tok}
	text := append(tok.Encode("Grüße, two friends"), tok.EOT)
	words, groups := tok.SplitToWords(text, "de")
	words[len(words)-1] = ""
	whole := []string{"G", "r", "ü", "ß", "e", ",", " ", "t", "w", "o", " ", "f", "r", "i", "e", "n", "d", "s", "<|endoftext|>"}
	for _, tt := range []struct {
		name       string
		from, room int
		want       []string
		first      []int
	}{
		{"whole", 0, 19, whole, []int{0, 5, 6, 10, 18}},
		{"in two parts, the first", 0, 13, append(slices.Clone(whole[:10]), " friends", "<|endoftext|>"), []int{0, 5, 6}},
		{"the second", 3, 14, append([]string{"Gr", "ü", "ße", ",", " two"}, whole[10:]...), []int{5, 13}},
		{"no room", 0, 3, []string{"Gr", "ü", "ße", ",", " two", " friends", "<|endoftext|>"}, nil},
	} {
		tokens, first := m.spell(words, groups, tt.from, tt.room)
		var got []string
		for _, x := range tokens {
			got = append(got, tok.DecodeWithTimestamps([]tokenizer.Token{x}))
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(first, tt.first) {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, got, first, tt.want, tt.first)
		}
	}
}

// TestEdge: by hand.
func TestEdge(t *testing.T) {
	for _, tt := range []struct {
		name    string
		word    string
		token   float64
		letters []int
		want    float64
	}{
		{"a word after a space", " word", 100, []int{102, 110, 112}, 103},
		{"without a space", "Word", 100, []int{106, 110}, 103},
		{"a number", " 108", 100, []int{102, 110}, 103},
		{"after a quotation mark", " \"word", 100, []int{102, 104, 110}, 103},
		{"after a hyphen", "-old", 100, []int{102, 110}, 103},
		{"a mark is where its letter is", ",", 100, []int{109}, 109},
		{"end-of-text too", "", 100, []int{109}, 109},
		{"letters just before", " word", 100, []int{84, 86}, 92.5},
		{"that strayed before", " word", 100, []int{84, 85}, 100},
		{"letters just after", " word", 100, []int{119, 121}, 110},
		{"that strayed after", " word", 100, []int{120, 121}, 100},
		{"a mark that strayed", ".", 100, []int{121}, 100},
	} {
		if got := edge(tt.word, tt.token, tt.letters); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
