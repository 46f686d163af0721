package transcript

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// paragraphCases is testdata/paragraphs.json, which tests the page's paragraphs too (tools/page/unit).
func paragraphCases(t *testing.T) (all struct {
	SentenceEnds, NoSentenceEnds []string
	Cases                        []struct {
		Name     string
		Segments []struct {
			Segment
			Repeat int
		}
		Want []struct {
			Text, End string
			Repeat    int
		}
	}
}) {
	data, err := os.ReadFile("testdata/paragraphs.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestParagraphs: where paragraphs begin.
func TestParagraphs(t *testing.T) {
	for _, tt := range paragraphCases(t).Cases {
		tr := &Transcript{}
		for _, s := range tt.Segments {
			s.Text = strings.Repeat(s.Text, max(1, s.Repeat))
			tr.Segments = append(tr.Segments, s.Segment)
		}
		var got, want []string
		for _, p := range tr.paragraphs() {
			got = append(got, p.Text)
		}
		for _, p := range tt.Want {
			want = append(want, strings.TrimSpace(strings.Repeat(p.Text, max(1, p.Repeat))+p.End))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", tt.Name, got, want)
		}
	}
	var b strings.Builder
	Write(&b, TXT, &Transcript{Segments: []Segment{{End: 1, Text: " a\nb\r\nc", Speaker: "A"}, {Start: 9, End: 10, Text: " d", Speaker: "A"}}})
	if got, want := b.String(), "A: a b c\nd\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestParagraphsKeepText: paragraphs and sentences lose no word.
func TestParagraphsKeepText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := anyTranscript(t)
		var said, sentences []string
		for _, s := range tr.Segments {
			said = append(said, number.FindAllString(s.Text, -1)...)
		}
		for _, s := range Sentences(tr.Segments) {
			sentences = append(sentences, number.FindAllString(s.Text, -1)...)
		}
		want := strings.Join(said, " ")
		if got := strings.Join(sentences, " "); got != want {
			t.Errorf("sentences have %s, want %s", got, want)
		}
		for _, f := range []Format{TXT, MD} {
			for _, o := range []Options{{}, {Lines: true, Times: true}} {
				var b strings.Builder
				if err := o.Write(&b, f, tr); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(number.FindAllString(b.String(), -1), " "); got != want {
					t.Errorf("%s has %s, want %s", f, got, want)
				}
			}
		}
	})
}

func TestSentences(t *testing.T) {
	words := func(start float64, texts ...string) (s Segment) {
		s.Start = start
		for _, text := range texts {
			s.Words, s.Text = append(s.Words, Word{Word: text, Start: start, End: start + 1}), s.Text+text
			start++
		}
		s.End = start
		return s
	}
	got := Sentences([]Segment{words(0, " Mr.", " Hill?", " Yes,", " so."), words(4, " Go"), {Start: 5, End: 6, Text: " No. Words."}})
	want := []string{"[00:00.000 --> 00:02.000] Mr. Hill?", "[00:02.000 --> 00:04.000] Yes, so.", "[00:04.000 --> 00:05.000] Go", "[00:05.000 --> 00:06.000] No. Words."}
	for i, s := range got {
		if text := s.Line("", true); i >= len(want) || text != want[i] {
			t.Errorf("%d: %s, want one of %q", i, text, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d sentences", len(got))
	}
}

// TestEndsSentence: full stops of titles and initials end no sentence, that of "I." does.
func TestEndsSentence(t *testing.T) {
	all := paragraphCases(t)
	for _, word := range append(all.SentenceEnds, all.NoSentenceEnds...) {
		before, next, _ := strings.Cut(word, "|")
		if got, want := EndsSentence(before, next), slices.Contains(all.SentenceEnds, word); got != want {
			t.Errorf("%q: %t, want %t", word, got, want)
		}
	}
}

// TestMarkdown: a title, paragraphs, times if they are wanted, and no text that is markup.
func TestMarkdown(t *testing.T) {
	tr := &Transcript{Name: "a/my_talk.mp3", Segments: []Segment{
		{Start: 0, End: 1, Text: " # not *a* heading"}, {Start: 61, End: 62, Text: " 1. <b> & [x](y)", Speaker: "A_b"}, {Start: 3700, End: 3701, Text: " 2. `no`", Speaker: "A_b"},
	}}
	for o, want := range map[Options]string{
		{}: "# my\\_talk\n\n\\# not \\*a\\* heading\n\n**A\\_b:** 1. \\<b> \\& \\[x\\](y)\n\n2\\. \\`no\\`\n",
		{Times: true}: "# my\\_talk\n\n`0:00:00` # not \\*a\\* heading\n\n`0:01:01` **A\\_b:** 1. \\<b> \\& \\[x\\](y)\n\n" +
			"`1:01:40` 2. \\`no\\`\n",
	} {
		var b strings.Builder
		if err := o.Write(&b, MD, tr); err != nil || b.String() != want {
			t.Errorf("%+v: %v, got\n%swant\n%s", o, err, b.String(), want)
		}
	}
}

// TestBOM: a byte order mark begins CSV alone, for spreadsheets, and is read over.
func TestBOM(t *testing.T) {
	for _, f := range Formats() {
		var b strings.Builder
		if err := Write(&b, f, &Transcript{Segments: []Segment{{End: 1, Text: " né"}}}); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(b.String(), "\ufeff") != (f == CSV) {
			t.Errorf("%s begins with %.20q", f, b.String())
		}
		if f != SRT && f != VTT && f != JSON {
			continue
		}
		if cues, err := Read("a."+string(f), []byte("\ufeff"+b.String())); err != nil || len(cues) != 1 || cues[0].Text != "né" {
			t.Errorf("%s with the mark reads as %v, %v", f, cues, err)
		}
	}
}
