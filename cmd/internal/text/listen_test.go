package text

import (
	"fmt"
	"strings"
	"testing"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/testing/testmodel"
	"verity/transcript"
)

func wordsOf(text string) (words []transcript.Word) {
	for _, w := range strings.Fields(text) {
		words = append(words, transcript.Word{Word: " " + w})
	}
	return words
}

// TestScreen: no confirmed word is lost, rows break between words, and no text is wider than a row,
// so that the next drawing replaces the last one.
func TestScreen(t *testing.T) {
	var b strings.Builder
	s := &screen{w: &b}
	long := strings.Repeat("tentative ", 30)
	all := ""
	parts := []string{
		"And so my", "fellow Americans,",
		"ask not what your country can do for you, ask what you can do for your country.", "日本語の音声を書き起こす", "",
	}
	for i, part := range parts {
		if err := s.show(wordsOf(part), " "+long, i == 4); err != nil {
			t.Fatal(err)
		}
		all += " " + part
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
	if got := strings.Join(strings.Fields(strings.Join(rows, " ")), " "); got != strings.TrimSpace(all) {
		t.Errorf("the screen has %q at the end, want %q", got, all)
	}
}

// TestRates: an impossible rate is refused as wrong usage, before a model is loaded; a second at any
// other rate remains a second.
func TestRates(t *testing.T) {
	testmodel.Serial(t)
	args := Listen(cli.Env{}).Args
	for _, rate := range []string{"", "0", "-1", "1", "999", "1000001", "1e4", "16000x", "text", "99999999999999999999"} {
		err := args(nil, []string{"raw:" + rate})
		if err == nil || !strings.Contains(err.Error(), "want a rate from 1000 to 1000000 Hz") {
			t.Errorf("raw:%s: %v", rate, err)
		}
	}
	for _, rate := range []int{1000, 7999, 12345, 16000, 44100, 999983, 1000000} {
		if err := args(nil, []string{fmt.Sprintf("raw:%d", rate)}); err != nil {
			t.Errorf("raw:%d: %v", rate, err)
		}
		a, err := audio.NewFeed(rate)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(a.Add(make([]float32, rate))) + len(a.End()); n < audio.SampleRate-1 || n > audio.SampleRate+1 {
			t.Errorf("a second at %d Hz: %d samples", rate, n)
		}
	}
}
