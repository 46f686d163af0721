package scribe

import (
	"strings"
	"testing"

	"verity/transcript"
)

func wordsOf(text string) (words []transcript.Word) {
	for _, w := range strings.Fields(text) {
		words = append(words, transcript.Word{Word: " " + w})
	}
	return words
}

// TestScreen: what stands is never lost, rows break between words, and nothing is wider than
// a row, so that the next drawing replaces all of the last one.
func TestScreen(t *testing.T) {
	var b strings.Builder
	s := &screen{w: &b}
	long := strings.Repeat("tentative ", 30)
	said := ""
	for i, part := range []string{"And so my", "fellow Americans,", "ask not what your country can do for you, ask what you can do for your country.", "日本語の音声を書き起こす", ""} {
		if err := s.show(wordsOf(part), " "+long, i == 4); err != nil {
			t.Fatal(err)
		}
		said += " " + part
	}
	var rows []string
	for row := range strings.SplitSeq(b.String(), "\n") {
		drawings := strings.Split(row, "\r\x1b[K")
		for _, d := range drawings {
			if len([]rune(d)) > 79 {
				t.Errorf("%q is wider than a row", d)
			}
		}
		rows = append(rows, drawings[len(drawings)-1])
	}
	if got := strings.Join(strings.Fields(strings.Join(rows, " ")), " "); got != strings.TrimSpace(said) {
		t.Errorf("the screen has %q at the end, want %q", got, said)
	}
}

// TestSentence: a line ends where a sentence or an utterance does.
func TestSentence(t *testing.T) {
	for _, tt := range []struct {
		text string
		last bool
		want int
	}{{"and so", false, 0}, {"and so", true, 2}, {"And so. My", false, 2}, {"", true, 0}, {"そうです。", false, 1}} {
		if got := sentence(wordsOf(tt.text), tt.last); got != tt.want {
			t.Errorf("%q, last %v: %d, want %d", tt.text, tt.last, got, tt.want)
		}
	}
}
