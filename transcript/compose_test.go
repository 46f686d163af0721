package transcript

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits unless others are set.
const composedWidth, composedLines, longestCue = 42, 2, 7.0

// shown returns the subtitles of t with their whole texts.
func shown(o Subtitles, t *Transcript, names bool) (all []Cue) {
	for _, c := range o.cues(t, names, 1000) {
		before, marked, after := c.text()
		all = append(all, Cue{Start: c.start, End: c.end, Text: before + marked + after})
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

// TestRows: the rows of an editor are the subtitles of SRT, each with its words; fixed segments stay as they are, and
// what is beside them has the rest of the time.
func TestRows(t *testing.T) {
	words := func(from float64, texts ...string) (list []Word) {
		for i, text := range texts {
			list = append(list, Word{Word: " " + text, Start: from + 0.3*float64(i), End: from + 0.3*float64(i+1)})
		}
		return list
	}
	tr := &Transcript{Duration: 20, Segments: []Segment{
		{Words: words(0, "Nobody", "had", "measured", "it,")},
		{Start: 1, End: 4.5, Fixed: true, Words: words(1.2, "since", "it", "was", "1", ",000", "years", "old.")},
		{Words: words(3.3, "It", "leans.")},
		{Speaker: "Ann", Words: words(8, "Does", "it,", "this", "wall", "of", "which", "nobody", "ever", "thought", "until", "now,", "really", "lean?")},
	}}
	tr.Segments[1].Words[4].Word = ",000"
	rows := Subtitles{Composed: true, MaxCPS: 10, Unnamed: true}.Rows(tr)
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%.2f-%.2f %q %d+%d %v %.1f %v %v %v\n", r.Start, r.End, r.Text, r.First, r.Words, r.Lines, r.CPS, r.Fast, r.Long, r.Fixed)
	}
	const want = `0.00-1.00 "Nobody had measured it," 0+4 [] 23.0 true false false
1.00-4.50 "since it was 1,000 years old." 4+7 [] 8.3 false false true
4.58-5.58 "It leans." 11+2 [] 9.0 false false false
8.00-15.00 "Does it, this wall of which nobody\never thought until now, really lean?" 13+13 [20] 10.0 false false false
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	var srt strings.Builder
	o := Options{Subtitles: Subtitles{Composed: true, MaxCPS: 10, Unnamed: true}}
	if err := o.Write(&srt, SRT, tr); err != nil || strings.Count(srt.String(), "-->") != len(rows) || strings.Contains(srt.String(), "Ann") {
		t.Errorf("%v %s", err, srt.String())
	}
	if rows := (Subtitles{Composed: true, MaxLineWidth: 4, MaxLineCount: 1}).Rows(tr); !rows[1].Long || !rows[1].Wide || !rows[1].Fixed {
		t.Errorf("a fixed row that has too many lines and too wide ones: %v", rows)
	}
}
