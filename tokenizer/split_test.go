package tokenizer

import (
	"slices"
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
			n := classes().piece(rest)
			got, rest = append(got, rest[:n]), rest[n:]
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q splits into %q, want %q: %s", tt.text, got, tt.want, tt.why)
		}
	}
}

func classOf(r rune) class {
	c, _ := classes().next(string(r))
	return c
}

// goClass is classOf by Go's package unicode.
func goClass(r rune) class {
	switch {
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// TestClasses compares the tables with Go's package unicode, which may be of
// another Unicode version but can only have fewer or more characters, never
// others. doc.go gives the numbers for Unicode 15.0.
func TestClasses(t *testing.T) {
	missing := map[class]int{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		ours, theirs := classOf(r), goClass(r)
		if !utf8.ValidRune(r) || ours == theirs {
			continue
		}
		if theirs != other || ours == space {
			t.Errorf("%U is of class %d, in Go's Unicode %s of %d", r, ours, unicode.Version, theirs)
		}
		missing[ours]++
	}
	t.Logf("Unicode %s lacks %d letters and %d numbers", unicode.Version, missing[letter], missing[number])
	if unicode.Version == "15.0.0" && (missing[letter] != 4924 || missing[number] != 80) {
		t.Errorf("Unicode 15.0 lacks %d letters and %d numbers, doc.go says otherwise", missing[letter], missing[number])
	}
}
