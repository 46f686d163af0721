package text

import (
	"slices"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
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

// TestPrinter: a terminal gets rows that end between words; a file gets a line for each paragraph, or with times
// for each segment.
func TestPrinter(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("a word and ", 20))
	segments := []transcript.Segment{
		{End: 5, Text: " " + text[:100]}, {Start: 5, End: 9, Text: text[100:] + "."}, {Start: 20, End: 21, Text: " Next.\nLine.", Speaker: "Ann"},
	}
	print := func(c *fileRun) []string {
		var b strings.Builder
		c.Out = &b
		p := c.newPrinter()
		for _, s := range segments {
			if err := p.add(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.end(); err != nil || !strings.HasSuffix(b.String(), "\n") {
			t.Errorf("%q, %v", b.String(), err)
		}
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	whole := []string{text + ".", "Ann: Next. Line."}
	if got := print(&fileRun{}); !slices.Equal(got, whole) {
		t.Errorf("a file gets %q", got)
	}
	rows := print(&fileRun{Run: cli.Run{Env: cli.Env{OutTerminal: true}}})
	for _, row := range rows {
		if len(row) > columns() {
			t.Errorf("%q is wider than a row", row)
		}
	}
	if got := strings.Join(rows, " "); len(rows) < 4 || got != strings.Join(whole, " ") {
		t.Errorf("a terminal gets %q", rows)
	}
	for _, c := range []*fileRun{{outputFlags: outputFlags{timed: true}}, {outputFlags: outputFlags{writing: transcript.Options{Lines: true}}}} {
		if got := print(c); len(got) != 3 || !strings.HasSuffix(got[2], "Ann: Next. Line.") || strings.HasPrefix(got[0], "[00:00.000 --> 00:05.000] ") != c.timed {
			t.Errorf("lines: %q", got)
		}
	}
}

func marksOf(accepted []bool) (marks []transcript.TokenOrigin) {
	for _, a := range accepted {
		marks = append(marks, transcript.TokenOrigin{Accepted: a})
	}
	return marks
}
