package text

import (
	"strings"
	"testing"

	"verity/tokenizer"
	"verity/transcript"
)

// TestHighlighter marks tokens with <> and checks where the marks are.
func TestHighlighter(t *testing.T) {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	stamp := tok.TimestampBegin
	split := tok.Encode(" 👋🏽") // a character of several tokens
	if len(split) < 3 {
		t.Fatalf("the waving hand is %d tokens; the test wants a character that is cut", len(split))
	}
	halves := make([]bool, len(split))
	for i := range halves {
		halves[i] = i%2 == 1
	}
	tests := []struct {
		name    string
		tokens  []tokenizer.Token
		drafted []bool
		want    string
	}{
		{"nothing", tok.Encode(" one two"), []bool{false, false}, "one two"},
		{"everything", tok.Encode(" one two"), []bool{true, true}, "<one two>"},
		{"the second word", tok.Encode(" one two"), []bool{false, true}, "one <two>"},
		{"the first word, which loses its space", tok.Encode(" one two"), []bool{true, false}, "<one> two"},
		{"inside a word", append(tok.Encode(" t"), tok.Encode("wo")...), []bool{false, true}, "t<wo>"},
		{"timestamps show nothing", []tokenizer.Token{stamp, tok.Encode(" one")[0], stamp + 9}, []bool{true, false, true}, "one"},
		{"a mark does not end at a timestamp", []tokenizer.Token{tok.Encode(" one")[0], stamp + 9, tok.Encode(" two")[0]}, []bool{true, false, true}, "<one two>"},
		{"a character cut short", split[:1], []bool{true}, "\uFFFD"},
		{"space alone", tok.Encode(" "), []bool{true}, ""},
	}
	m := highlighter{tok, "<", ">"}
	for _, tt := range tests {
		s := transcript.Segment{Text: tok.Decode(tt.tokens), Tokens: tt.tokens, Origins: marksOf(tt.drafted)}
		if got := m.line(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	// Wherever a character is cut, the text between the marks stays whole.
	s := transcript.Segment{Text: tok.Decode(split), Tokens: split, Origins: marksOf(halves)}
	if got := strings.NewReplacer("<", "", ">", "").Replace(m.line(s)); got != s.TrimmedText() {
		t.Errorf("a cut character: %q without marks, want %q", got, s.TrimmedText())
	}
}

// TestFolded: a terminal gets rows that end between words; a file gets a line.
func TestFolded(t *testing.T) {
	s := transcript.Segment{Text: " " + strings.Repeat("a word and ", 20)}
	c := &fileRun{timed: true}
	if got := c.line(s); strings.Contains(got, "\n") || !strings.HasSuffix(got, "] "+s.TrimmedText()) {
		t.Errorf("a file gets %q", got)
	}
	c.OutTerminal = true
	rows := strings.Split(c.line(s), "\n")
	for _, row := range rows {
		if len(row) > columns() {
			t.Errorf("%q is wider than a row", row)
		}
	}
	if got := strings.Join(rows, " "); len(rows) < 3 || !strings.HasSuffix(got, "] "+s.TrimmedText()) {
		t.Errorf("a terminal gets %q", rows)
	}
}

func marksOf(accepted []bool) (marks []transcript.TokenOrigin) {
	for _, a := range accepted {
		marks = append(marks, transcript.TokenOrigin{Accepted: a})
	}
	return marks
}
