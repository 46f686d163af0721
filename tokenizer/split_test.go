package tokenizer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPiece(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
		why  string
	}{
		{"hello world", []string{"hello", " world"}, "a space goes to the word after it"},
		{"a  b", []string{"a", " ", " b"}, "only the last space does"},
		{"x\n\ny", []string{"x", "\n", "\n", "y"}, "a newline never does, but is kept from the run"},
		{"x \n", []string{"x", " \n"}, "white space at the end is one piece"},
		{"\t a", []string{"\t", " a"}, "any white space is left of the last"},
		{" \ta", []string{" ", "\t", "a"}, "a tab is not a space"},
		{"\u00a0a", []string{"\u00a0", "a"}, "nor is a no-break space"},
		{"it's", []string{"it", "'s"}, "contraction"},
		{"IT'S", []string{"IT", "'", "S"}, "in lower case only"},
		{"we'll've", []string{"we", "'ll", "'ve"}, "one after another"},
		{" 'tis", []string{" '", "tis"}, "not after a space"},
		{"'tis", []string{"'t", "is"}, "even where it is none"},
		{"''s", []string{"''", "s"}, "nor within a run of signs"},
		{"a1²Ⅷ", []string{"a", "1²Ⅷ"}, "every kind of number"},
		{"e\u0301a", []string{"e", "\u0301", "a"}, "marks are neither letters nor numbers"},
		{"$5!", []string{"$", "5", "!"}, ""},
		{"\x1c\x85", []string{"\x1c\x85"}, "not white space, as in Python's \\s: a control, and an invalid byte"},
		{"a\xffb\xf0\x9f", []string{"a", "\xff", "b", "\xf0\x9f"}, "invalid bytes are signs"},
		{"\U00010d50x", []string{"\U00010d50x"}, "a letter since Unicode 16"},
	} {
		var got []string
		for rest := tt.text; rest != ""; {
			n := pieceLength(rest)
			got, rest = append(got, rest[:n]), rest[n:]
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q splits into %q, want %q: %s", tt.text, got, tt.want, tt.why)
		}
	}
}

// TestClasses compares the class of every character with upstream's.
func TestClasses(t *testing.T) {
	raw, err := os.ReadFile("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[rune]class{}
	for line := range strings.Lines(string(raw)) {
		var name string
		var lo, hi rune
		if n, _ := fmt.Sscanf(line, "%s %x %x", &name, &lo, &hi); n != 3 {
			continue
		}
		for r := lo; r <= hi; r++ {
			want[r] = map[string]class{"space": space, "letter": letter, "number": number}[name]
		}
	}
	if len(want) < 140_000 {
		t.Fatalf("%d characters in the file: it is not whole", len(want))
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		// A later Go may know letters and numbers that upstream does not.
		if got, _ := firstClass(string(r)); got != want[r] && (unicode.Version <= "16.0.0" || want[r] != other) {
			t.Errorf("%U is of class %d, want %d", r, got, want[r])
		}
	}
}
