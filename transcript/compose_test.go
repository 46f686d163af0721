package transcript

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The limits unless others are set.
const (
	composedWidth, composedLines = 42, 2
	shortestCue, longestCue      = 1.0, 7.0
	readingSpeed, cueGap         = 17.0, 0.08
)

// shown returns the subtitles of t with their whole texts.
func shown(o Subtitles, t *Transcript, names bool) (all []Cue) {
	for _, c := range o.cues(t, names, 1000) {
		before, marked, after := c.text()
		all = append(all, Cue{c.start, c.end, before + marked + after})
	}
	return all
}

// TestPhrases: no line ends with a word that belongs to the next, where others fit, and it ends before a
// conjunction rather than elsewhere.
func TestPhrases(t *testing.T) {
	const said = " The peers voted a declaration against those two and ascended to the lower house" +
		" frequent skirmishes which ended not without bloodshed"
	s := Segment{Text: said, End: 20}
	for i, w := range strings.Fields(said) {
		s.Words = append(s.Words, Word{Word: " " + w, Start: 0.5 * float64(i), End: 0.5 * float64(i+1)})
	}
	cues := shown(Subtitles{Composed: true}, &Transcript{Segments: []Segment{s}}, false)
	if last := cues[len(cues)-1].Text; last != "frequent skirmishes\nwhich ended not without bloodshed" {
		t.Errorf("the last subtitle is %q", last)
	}
	for _, c := range cues {
		for line := range strings.SplitSeq(c.Text, "\n") {
			if words := strings.Fields(line); bound.MatchString(words[len(words)-1]) {
				t.Errorf("%q ends within a phrase", line)
			}
		}
	}
}

// Whatever is said, composed subtitles can be read: no line is too wide, none too many, none
// too short; they do not overlap, and they hold every word in its order.
func TestComposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := &Transcript{}
		var said strings.Builder
		at := rapid.Float64Range(0, 3).Draw(t, "first")
		for range rapid.IntRange(0, 6).Draw(t, "segments") {
			s := Segment{Start: at}
			for range rapid.IntRange(1, 40).Draw(t, "words") {
				w := Word{Word: " " + rapid.StringMatching(`[a-zé漢]{1,9}[,.?]?`).Draw(t, "word"), Start: at}
				w.End = at + rapid.SampledFrom([]float64{0, 0.02, 0.2, 0.3, 0.4, 0.9, 9}).Draw(t, "takes")
				at = w.End + rapid.SampledFrom([]float64{0, 0, 0, 0, 0.1, 0.6, 2.5, 12}).Draw(t, "pause")
				s.Words = append(s.Words, w)
				s.Text += w.Word
			}
			s.End = s.Words[len(s.Words)-1].End
			said.WriteString(s.Text)
			if rapid.Bool().Draw(t, "untimed") {
				s.Words = nil
			}
			s.Speaker = rapid.SampledFrom([]string{"", "", "A"}).Draw(t, "speaker")
			text.Segments = append(text.Segments, s)
		}
		var texts []string
		cues := shown(Subtitles{Composed: true}, text, false)
		for i, c := range cues {
			lines := strings.Split(c.Text, "\n")
			if len(lines) > composedLines {
				t.Errorf("cue %d: %q: %d lines", i, c.Text, len(lines))
			}
			for _, l := range lines {
				if !strings.Contains(strings.Join(strings.Fields(said.String()), " "), l) {
					t.Errorf("cue %d: line %q was not said", i, l)
				}
				if columns(l) > composedWidth || l != strings.TrimSpace(l) {
					t.Errorf("cue %d: line %q: %v columns", i, l, columns(l))
				}
			}
			if d := c.End - c.Start; d < shortestCue-1e-9 || d > longestCue+1e-9 {
				t.Errorf("cue %d: %v s", i, d)
			}
			next := math.Inf(1)
			if i+1 < len(cues) {
				next = cues[i+1].Start
			}
			if next-c.End < cueGap-1e-9 {
				t.Errorf("cue %d ends at %v, the next starts at %v", i, c.End, next)
			}
			if speed := columns(c.Text) / (c.End - c.Start); speed > readingSpeed+1e-6 && next-c.End > cueGap+1e-9 && c.End-c.Start < longestCue-1e-9 {
				t.Errorf("cue %d: %v columns a second, and room behind it", i, speed)
			}
			texts = append(texts, strings.Fields(c.Text)...)
		}
		// Without spaces, since a line may end within a word of Chinese.
		if got, want := strings.Join(texts, ""), strings.Join(strings.Fields(said.String()), ""); got != want {
			t.Errorf("shown %q, said %q", got, want)
		}
	})
}

// Subtitles end where a reader would have them end.
func TestComposedEnds(t *testing.T) {
	text := "And so, my fellow Americans, ask not what your country can do for you. Ask what you can do for your country, " +
		"and do it before somebody else does it in your place and takes the credit."
	s := Segment{Text: text}
	for i, w := range strings.Fields(text) {
		s.Words = append(s.Words, Word{Word: " " + w, Start: 0.4 * float64(i), End: 0.4*float64(i) + 0.35})
	}
	want := []string{
		"And so, my fellow Americans,\nask not what your country can do for you.",
		"Ask what you can do for your country,",
		"and do it before somebody else does it\nin your place and takes the credit.",
	}
	cues := shown(Subtitles{Composed: true}, &Transcript{Segments: []Segment{s}}, false)
	for i, c := range cues {
		if i >= len(want) || c.Text != want[i] {
			t.Errorf("cue %d: %q, want one of %q", i, c.Text, want)
		}
	}
	if len(cues) != len(want) {
		t.Errorf("%d cues, want %d", len(cues), len(want))
	}
}

// No text can be a command of ASS: what is read back without commands is what was said.
func TestASS(t *testing.T) {
	var b strings.Builder
	text := Segment{Start: 1, End: 3661.25, Text: ` a {\b1}bold\N one`}
	if err := Write(&b, ASS, &Transcript{Segments: []Segment{text}}); err != nil {
		t.Fatal(err)
	}
	want := "Dialogue: 0,0:00:01.00,1:01:01.25,Default,,0,0,0,,a \\{\\\u2060b1\\}bold\\\u2060N one\n"
	if got := b.String(); !strings.HasSuffix(got, want) || !utf8.ValidString(got) {
		t.Errorf("got %q, want the end %q", got, want)
	}
}

// A player may break a line of ASS that is wider than the picture: a segment is one line
// unless it is cut. Breaks of composed subtitles are hard ones, which stay.
func TestASSWrap(t *testing.T) {
	long := strings.Repeat(" abcdefghi", 8) + " abcde" // 86 characters
	tr := &Transcript{Segments: []Segment{{End: 6, Text: long}}}
	for o, line := range map[Subtitles]string{
		{}:               strings.TrimSpace(long),
		{Composed: true}: strings.Repeat("abcdefghi ", 4)[:39] + `\N`,
	} {
		var b strings.Builder
		if err := (Options{Subtitles: o}).Write(&b, ASS, tr); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, "\nWrapStyle: 0\n") || !strings.Contains(got, ",,0,0,0,,"+line) {
			t.Errorf("%+v: got %q, want smart wrapping and %q", o, got, line)
		}
	}
}

// TestFormulas: csv has what was said, whatever a spreadsheet makes of it.
func TestFormulas(t *testing.T) {
	var b strings.Builder
	err := Write(&b, CSV, &Transcript{Segments: []Segment{{End: 1, Text: " =1+1"}, {End: 2, Text: ` @x, "-2"`}}})
	if want := "\ufeffstart,end,text\n0,1000,=1+1\n0,2000,\"@x, \"\"-2\"\"\"\n"; err != nil || b.String() != want {
		t.Errorf("%q, %v, want %q", b.String(), err, want)
	}
}

// The name of a speaker stands where somebody else spoke before, and in every row of tables and
// lyrics and every cue of WebVTT; no subtitle holds two of them.
func TestSpeakers(t *testing.T) {
	part := func(segments ...Segment) *Transcript { return &Transcript{Duration: 9, Segments: segments} }
	word := func(text string, at float64) []Word { return []Word{{Word: text, Start: at, End: at + 1}} }
	both := MergeSpeakers([]string{"Ann", "Bob"}, []*Transcript{
		part(Segment{Start: 0, End: 1, Text: " Hello?", Words: word(" Hello?", 0)}, Segment{Start: 5, End: 6, Text: " Fine.", Words: word(" Fine.", 5)}),
		part(Segment{Start: 1, End: 2, Text: " Hi.", Words: word(" Hi.", 1)}, Segment{Start: 3, End: 4, Text: " You?", Words: word(" You?", 3)}),
	})
	if want := " Hello? Hi. You? Fine."; both.Text != want || both.Segments[3].ID != 3 || both.Segments[3].Speaker != "Ann" {
		t.Errorf("%q, %+v, want %q", both.Text, both.Segments, want)
	}
	want := []string{"Ann: Hello?", "Bob: Hi.", "You?", "Ann: Fine."}
	for _, o := range []Subtitles{{}, {Composed: true}, {MaxLineWidth: 40, MaxLineCount: 2}} {
		for f, bob := range map[Format]int{TXT: 1, SRT: 1, VTT: 2, ASS: 1, TSV: 2, LRC: 2, CSV: 2} {
			var b strings.Builder
			if err := (Options{Subtitles: o}).Write(&b, f, both); err != nil {
				t.Fatal(err)
			}
			if f == VTT && o.MaxLineCount > 0 {
				bob = 1 // both turns are one cue
			}
			if got := b.String(); strings.Count(got, "Ann") != 2 || strings.Count(got, "Bob") != bob {
				t.Errorf("%+v: %s:\n%s", o, f, got)
			}
		}
		if cues := shown(o, both, true); o.MaxLineWidth == 0 {
			for i, c := range cues {
				if c.Text != want[i] {
					t.Errorf("%+v: cue %d: %q, want %q", o, i, c.Text, want[i])
				}
			}
		}
	}
}
