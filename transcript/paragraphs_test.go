package transcript

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestParagraphs: where paragraphs begin.
func TestParagraphs(t *testing.T) {
	sentence := strings.Repeat(" word", 29) + " end." // 30 words
	at := func(start, end float64, text string) Segment { return Segment{Start: start, End: end, Text: text} }
	by := func(speaker string, s Segment) Segment { s.Speaker = speaker; return s }
	clean := strings.TrimSpace
	for _, tt := range []struct {
		name     string
		segments []Segment
		want     []string
	}{
		{"segments are joined", []Segment{at(0, 2, " And so,"), at(2, 4, " my fellow."), at(4, 4, ""), at(4, 6, " Ask")}, []string{"And so, my fellow. Ask"}},
		{"a pause", []Segment{at(0, 2, " One."), at(4, 5, " Two."), at(7.1, 8, " Three.")}, []string{"One. Two.", "Three."}},
		{"a pause between words", []Segment{{Text: " One two", Words: []Word{{Word: " One", Start: 0, End: 1}, {Word: " two", Start: 3.5, End: 4}}}}, []string{"One", "two"}},
		{"speakers", []Segment{by("A", at(0, 1, " a")), by("A", at(5, 6, " b")), by("B", at(6, 7, " c")), at(7, 8, " d")}, []string{"A: a", "b", "B: c", "d"}},
		{"long text", []Segment{at(0, 9, sentence), at(9, 12, sentence+sentence), at(12, 20, sentence)},
			[]string{clean(sentence + sentence + sentence), clean(sentence)}},
		{"a sentence ends within a segment", []Segment{at(0, 9, sentence+sentence+sentence+sentence)},
			[]string{clean(sentence + sentence + sentence), clean(sentence)}},
		{"no sentence ends", []Segment{at(0, 9, strings.Repeat(" word", 70)), at(9, 18, strings.Repeat(" word", 70)), at(18, 19, " more")},
			[]string{clean(strings.Repeat(" word", 140)), "more"}},
		{"a title is no sentence", []Segment{at(0, 9, sentence+sentence+strings.Repeat(" word", 32)+" Mr. Quilter. Yes.")},
			[]string{clean(sentence + sentence + strings.Repeat(" word", 32) + " Mr. Quilter."), "Yes."}},
		{"Chinese", []Segment{at(0, 9, strings.Repeat("今天天气很好。", 60))},
			[]string{strings.Repeat("今天天气很好。", 39), strings.Repeat("今天天气很好。", 21)}},
		{"line breaks", []Segment{at(0, 1, " a\nb\r\nc")}, []string{"a b c"}},
	} {
		var b strings.Builder
		if err := Write(&b, TXT, &Transcript{Segments: tt.segments}); err != nil {
			t.Fatal(err)
		}
		if got, want := b.String(), strings.Join(tt.want, "\n")+"\n"; got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, want)
		}
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

// TestEndsSentence: full stops of titles and initials end no sentence, that of "I." does. The page has the same titles, as
// sentenceEnd in serve/page/paragraphs.js.
func TestEndsSentence(t *testing.T) {
	for _, word := range []string{" I.", " end.", " end.\"", " so?", " 5.", "好。"} {
		if !EndsSentence(word) {
			t.Errorf("%q ends no sentence", word)
		}
	}
	for _, word := range []string{" Mr.", " Mrs.", " \"Dr.", " Jr.", " Sr.", " vs.", " J.", " É.", " U.S.", " St.", " Prof.", " Ms."} {
		if EndsSentence(word) {
			t.Errorf("%q ends a sentence", word)
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

// TestBOM: the mark begins the formats that need it, and is read over.
func TestBOM(t *testing.T) {
	for _, f := range Formats() {
		var with, without strings.Builder
		tr := &Transcript{Segments: []Segment{{End: 1, Text: " né"}}}
		if err := (Options{BOM: true}).Write(&with, f, tr); err != nil {
			t.Fatal(err)
		}
		Write(&without, f, tr)
		want := without.String()
		if f == SRT || f == CSV {
			want = "\ufeff" + want
		}
		if with.String() != want {
			t.Errorf("%s: got %q, want %q", f, with.String(), want)
		}
		if f == RTTM || f == DOCX { // it has no text, or is not read
			continue
		}
		if cues, err := Read("a."+string(f), []byte(with.String())); err != nil || !strings.Contains(cues[len(cues)-1].Text, "né") {
			t.Errorf("%s reads back as %v, %v", f, cues, err)
		}
	}
}
