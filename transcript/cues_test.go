package transcript

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyTranscript draws a transcript with everything that a writer could stumble over: words without time, past the sound
// and before it, segments without words or text, speakers at the same time, markup, arrows, line breaks, scripts
// without spaces, and words that the model cut within a character. Each word of the text is different, so that it can
// be found again.
func anyTranscript(t *rapid.T) *Transcript {
	tr := &Transcript{Duration: rapid.Float64Range(0.1, 30).Draw(t, "duration")}
	if rapid.IntRange(0, 3).Draw(t, "unknown") == 0 {
		tr.Duration = 0
	}
	number := 0
	word := func() string {
		number++
		before := rapid.SampledFrom([]string{" ", " ", " ", " ", "", " (", " 「", " <b>", " --> ", "\n", " \t", "\r\n\r\n", " \u2028"}).Draw(t, "before")
		script := rapid.SampledFrom([]string{"w%dx", "語%d語", "ไม่%dที่", "👩🏽‍🚀%d", "<i>%d</i>", "&%d;", "{\\b1}%d", "long%dlonglonglong"}).Draw(t, "word")
		after := rapid.SampledFrom([]string{"", "", "", ",", ".", "。", "」", "-->", "--->", "\n"}).Draw(t, "after")
		return before + fmt.Sprintf(script, number+1000) + after
	}
	at := rapid.Float64Range(-0.5, 3).Draw(t, "first")
	for range rapid.IntRange(0, 6).Draw(t, "segments") {
		s := Segment{Start: at, Speaker: rapid.SampledFrom([]string{"", "", "Ann", "Bob & <Co>"}).Draw(t, "speaker")}
		for range rapid.IntRange(0, 12).Draw(t, "words") {
			for _, text := range cutAnywhere(t, word()) {
				w := Word{Word: text, Start: at}
				w.End = at + rapid.SampledFrom([]float64{0, 0, 0.004, 0.02, 0.3, 1.2}).Draw(t, "takes")
				at = w.End
				s.Words, s.Text, s.End = append(s.Words, w), s.Text+w.Word, w.End
			}
			at += rapid.SampledFrom([]float64{0, 0, 0, 0.1, 0.6, 4}).Draw(t, "pause")
		}
		if rapid.IntRange(0, 3).Draw(t, "untimed") == 0 {
			s.Words = nil
		}
		if rapid.IntRange(0, 3).Draw(t, "overlap") == 0 {
			at = s.Start // the next speaker begins at the same time
		}
		tr.Segments = append(tr.Segments, s)
	}
	slices.SortStableFunc(tr.Segments, func(a, b Segment) int { return int(1e6 * (a.Start - b.Start)) })
	return tr
}

// cutAnywhere cuts a word in two at times.
func cutAnywhere(t *rapid.T, word string) []string {
	runes := []rune(word)
	at := rapid.IntRange(0, 3*len(runes)).Draw(t, "cut")
	if at == 0 || at >= len(runes) {
		return []string{word}
	}
	return []string{string(runes[:at]), string(runes[at:])}
}

func anySubtitles(t *rapid.T) Subtitles {
	return Subtitles{
		MaxLineWidth:    rapid.SampledFrom([]int{0, 0, 8, 20, 30}).Draw(t, "width"),
		MaxLineCount:    rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "count"),
		MaxWordsPerLine: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "per line"),
		HighlightWords:  rapid.Bool().Draw(t, "highlight"),
		Composed:        rapid.Bool().Draw(t, "composed"),
	}
}

// A written is a cue, a row or a line as a reader of the file finds it.
type written struct {
	start, end float64
	text       string // with tags
	lines      []string
}

var (
	srtTimes = regexp.MustCompile(`^(\d+):(\d\d):(\d\d),(\d{3}) --> (\d+):(\d\d):(\d\d),(\d{3})$`)
	vttTimes = regexp.MustCompile(`^(?:(\d+):)?(\d\d):(\d\d)\.(\d{3}) --> (?:(\d+):)?(\d\d):(\d\d)\.(\d{3})$`)
	assTimes = regexp.MustCompile(`^Dialogue: 0,(\d+):(\d\d):(\d\d)\.(\d\d),(\d+):(\d\d):(\d\d)\.(\d\d),Default,,0,0,0,,(.*)$`)
	lrcTime  = regexp.MustCompile(`^\[()(\d\d+):(\d\d)\.(\d\d)\](.*)$`)
)

// readBack reads a file by the rules of its format alone, and fails on anything between its cues.
func readBack(t *rapid.T, f Format, file string) (all []written) {
	switch f {
	case SRT, VTT:
		blocks, times := strings.Split(file, "\n\n"), srtTimes
		if blocks[len(blocks)-1] != "" {
			t.Fatalf("%s: no empty line at the end: %q", f, file)
		}
		blocks = blocks[:len(blocks)-1]
		if f == VTT {
			if times = vttTimes; blocks[0] != "WEBVTT" {
				t.Fatalf("vtt begins with %q", blocks[0])
			}
			blocks = blocks[1:]
		}
		for i, block := range blocks {
			lines := strings.Split(block, "\n")
			if f == SRT {
				if lines[0] != strconv.Itoa(i+1) {
					t.Fatalf("srt: block %d is %q", i+1, block)
				}
				lines = lines[1:]
			}
			m := times.FindStringSubmatch(lines[0])
			if m == nil || len(lines) < 2 || strings.Contains(strings.Join(lines[1:], "\n"), "-->") {
				t.Fatalf("%s: block %d is %q", f, i+1, block)
			}
			all = append(all, written{secondsOf(m[1:5]), secondsOf(m[5:9]), strings.Join(lines[1:], "\n"), lines[1:]})
		}
	case ASS:
		body, ok := strings.CutPrefix(file, assHead)
		for line := range strings.Lines(body) {
			m := assTimes.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil || !ok {
				t.Fatalf("ass: line %q", line)
			}
			all = append(all, written{secondsOf(m[1:5]), secondsOf(m[5:9]), m[9], strings.Split(m[9], `\N`)})
		}
	case TSV, CSV:
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff")))
		if f == TSV {
			r.Comma, r.LazyQuotes = '\t', true
		}
		rows, err := r.ReadAll()
		if err != nil || strings.Count(file, "\n") != len(rows) {
			t.Fatalf("%s: %v in %q", f, err, file)
		}
		for _, row := range rows[1:] {
			start, err1 := strconv.ParseUint(row[0], 10, 63)
			end, err2 := strconv.ParseUint(row[1], 10, 63)
			if err1 != nil || err2 != nil {
				t.Fatalf("%s: row %q", f, row)
			}
			text := row[len(row)-1]
			all = append(all, written{float64(start) / 1000, float64(end) / 1000, text, []string{text}})
		}
	case LRC:
		for line := range strings.Lines(file) {
			m := lrcTime.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Fatalf("lrc: line %q", line)
			}
			start := secondsOf(m[1:5])
			all = append(all, written{start, start + 0.01, m[5], []string{m[5]}})
		}
	}
	return all
}

var number = regexp.MustCompile(`1\d{3}`)

// TestCues: in every format and with every option, starts rise, each cue lasts, none ends after the sound or before its
// last word, no text breaks the format or is cut within a character, no line is too wide, and every word of the
// transcript is in exactly one cue, or underlined in exactly one.
func TestCues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, o := anyTranscript(t), anySubtitles(t)
		f := rapid.SampledFrom([]Format{SRT, VTT, ASS, TSV, CSV, LRC}).Draw(t, "format")
		var b strings.Builder
		if err := (Options{Subtitles: o}).Write(&b, f, tr); err != nil {
			t.Fatal(err)
		}
		wanted, spoken := map[string]int{}, map[string]float64{}
		timed := false
		for _, s := range tr.Segments {
			timed = timed || len(s.Words) > 0
			for _, n := range number.FindAllString(s.Text, -1) {
				wanted[n]++
			}
			for _, w := range s.Words {
				if o.MaxLineWidth == 0 { // else a wide word may be in two cues
					spoken[number.FindString(w.Word)] = w.End
				}
			}
		}
		cut := slices.Contains([]Format{SRT, VTT, ASS}, f)
		marks := o.HighlightWords && timed && cut
		last := 0.0
		before := map[string]string{} // the last line of each speaker
		all := readBack(t, f, b.String())
		for i, c := range all {
			if !(c.start >= last && c.end > c.start) || tr.Duration > 0 && c.end > tr.Duration+1e-6 && c.end > 0.021 {
				t.Errorf("cue %d: %v to %v after %v, in %v s of sound\n%s", i, c.start, c.end, last, tr.Duration, b.String())
			}
			last = c.start
			text := c.text
			if marks {
				text = underlined(t, f, c.text)
			}
			for _, n := range number.FindAllString(text, -1) {
				wanted[n]--
				least := spoken[n]
				if tr.Duration > 0 { // words without time before its end need some
					least = min(least, tr.Duration-shortest*float64(len(all)))
				}
				if o.Composed { // which may begin before 0
					least = min(least, c.start+longestCue-0.5)
				}
				if cut && !marks && c.end < least-0.006 {
					t.Errorf("cue %d ends at %v s, before its word %s at %v s\n%s", i, c.end, n, least, b.String())
				}
			}
			if o.Composed && cut && len(c.lines) > cmp.Or(o.MaxLineCount, composedLines) || o.MaxLineWidth > 0 && o.MaxLineCount > 0 && len(c.lines) > o.MaxLineCount {
				t.Errorf("cue %d has %d lines\n%s", i, len(c.lines), b.String())
			}
			for _, line := range c.lines {
				checkLine(t, f, line)
				if speaker, line := plainLine(f, line); cut && !marks {
					checkWidth(t, o, line)
					checkCharacters(t, before[speaker], line)
					before[speaker] = line
				}
			}
		}
		for n, missing := range wanted {
			if missing != 0 {
				t.Errorf("%+v: word %s is missing %d times:\n%s", o, n, missing, b.String())
			}
		}
	})
}

// underlined returns the underlined text of a cue, which no character of it may cross.
func underlined(t *rapid.T, f Format, text string) string {
	on, off := "<u>", "</u>"
	if f == ASS {
		on, off = `{\u1}`, `{\u0}`
	}
	if strings.Count(text, on) > 1 {
		t.Errorf("%q: two words are underlined", text)
	}
	before, text, _ := strings.Cut(text, on)
	text, after, _ := strings.Cut(text, off)
	checkCharacters(t, before, text)
	checkCharacters(t, text, after)
	return text
}

// plainLine returns a line as a player shows it, without the name of a speaker, which it returns.
func plainLine(f Format, line string) (speaker, text string) {
	switch f {
	case VTT:
		if rest, ok := strings.CutPrefix(line, "<v "); ok {
			speaker, line, _ = strings.Cut(rest, ">")
		}
		line = html.UnescapeString(line)
	case ASS:
		line = strings.NewReplacer("\\\u2060", `\`, `\{`, "{", `\}`, "}").Replace(line)
	}
	for _, name := range []string{"Ann", "Bob & <Co>"} {
		if rest, ok := strings.CutPrefix(line, name+": "); ok {
			speaker, line = name, rest
		}
	}
	return speaker, line
}

// checkWidth fails if a line is wider than the limit and could be broken. The name of a speaker stays with the word
// after it.
func checkWidth(t *rapid.T, o Subtitles, line string) {
	size, most := characters, cmp.Or(o.MaxLineWidth, math.MaxInt)
	if o.Composed {
		size, most = columns, cmp.Or(o.MaxLineWidth, composedWidth)
	}
	if size(line) > float64(most) && len(lineBreaks(line)) > 1 {
		t.Errorf("%+v: line %q is wider than %d and may break at %v", o, line, most, lineBreaks(line))
	}
}

// checkCharacters fails if two texts are parts of one character.
func checkCharacters(t *rapid.T, before, after string) {
	if characters(before+after) != characters(before)+characters(after) {
		t.Errorf("%q and %q: cut within a character", before, after)
	}
}

// checkLine fails if a line begins with what belongs to the character before it, or ends with an opening bracket.
func checkLine(t *rapid.T, f Format, line string) {
	if _, text := plainLine(f, line); strings.TrimSpace(text) == "" || f != TSV && f != CSV && f != LRC && strings.TrimSpace(text) != text {
		t.Errorf("%s: line %q", f, line)
	}
	for _, mark := range []string{"่", "\u200d", "\U0001f3fd", "。", "」", ","} {
		if strings.HasPrefix(line, mark) {
			t.Errorf("%s: line %q begins with %q", f, line, mark)
		}
	}
	if f == VTT {
		line = html.UnescapeString(line)
	}
	if strings.HasSuffix(line, "「") || strings.HasSuffix(line, "(") {
		t.Errorf("%s: line %q ends with a bracket", f, line)
	}
}

// What a reader sees of the situations in bug reports of other programs.
func TestCueTexts(t *testing.T) {
	words := func(start, step float64, texts ...string) (s Segment) {
		s.Start = start
		for _, text := range texts {
			s.Words = append(s.Words, Word{Word: text, Start: start, End: start + step})
			start += step
		}
		s.Text, s.End = JoinWords(s.Words), start
		return s
	}
	by := func(speaker string, s Segment) Segment { s.Speaker = speaker; return s }
	text := func(start, end float64, text string) Segment { return Segment{Start: start, End: end, Text: text} }
	for _, tt := range []struct {
		name     string
		o        Subtitles
		duration float64
		segments []Segment
		want     string // in VTT, after its head
	}{
		{"two speak at once", Subtitles{MaxLineWidth: 12}, 0,
			[]Segment{by("A", words(0, 1, " one", " two", " three", " four")), by("B", words(1.5, 0.5, " yes"))},
			"00:00.000 --> 00:04.000\nA: one two\nthree four\n\n00:01.500 --> 00:02.000\nB: yes\n\n"},
		{"two speak at once, and one goes on", Subtitles{MaxLineWidth: 13, MaxLineCount: 1}, 0,
			[]Segment{by("A", words(0, 1, " one", " two", " three", " four")), by("B", words(1.5, 0.5, " yes"))},
			"00:00.000 --> 00:02.000\nA: one two\n\n00:01.500 --> 00:02.000\nB: yes\n\n00:02.000 --> 00:04.000\nA: three four\n\n"},
		{"a cue lasts to its last word", Subtitles{Composed: true}, 0,
			[]Segment{by("A", words(0, 1, " one", " two", " three.")), by("B", words(1.5, 0.5, " Yes."))},
			"00:00.000 --> 00:03.000\nA: one two three.\n\n00:01.500 --> 00:02.500\nB: Yes.\n\n"},
		{"a quick answer shares the subtitle", Subtitles{Composed: true, Dash: "-"}, 0,
			[]Segment{by("A", words(0, 0.3, " Are", " you", " coming?")), by("B", words(1, 0.2, " No."))},
			"00:00.000 --> 00:02.080\n-Are you coming?\n-No.\n\n"},
		{"one with time to read does not", Subtitles{Composed: true, Dash: "-"}, 0,
			[]Segment{by("A", words(0, 1, " Are", " you", " coming?")), by("B", words(4, 1, " No."))},
			"00:00.000 --> 00:03.000\nAre you coming?\n\n00:04.000 --> 00:05.000\nNo.\n\n"},
		{"no break after a title", Subtitles{Composed: true, MaxLineWidth: 15, MaxLineCount: 1}, 0,
			[]Segment{words(0, 0.5, " Nor", " is", " Mr.", " Quilter's", " manner", " less", " interesting.")},
			"00:00.000 --> 00:01.000\nNor is\n\n00:01.080 --> 00:02.080\nMr. Quilter's\n\n00:02.160 --> 00:03.160\nmanner less\n\n00:03.240 --> 00:04.240\ninteresting.\n\n"},
		{"words without time", Subtitles{MaxWordsPerLine: 1}, 0, []Segment{words(1, 0, " a", " b"), words(1, 1, " c")},
			"00:01.000 --> 00:01.020\na\n\n00:01.020 --> 00:01.040\nb\n\n00:01.040 --> 00:02.000\nc\n\n"},
		{"a word after the sound", Subtitles{MaxWordsPerLine: 1}, 1.5, []Segment{words(1, 0.5, " a", " b", " c")},
			"00:01.000 --> 00:01.460\na\n\n00:01.460 --> 00:01.480\nb\n\n00:01.480 --> 00:01.500\nc\n\n"},
		{"a segment after the sound", Subtitles{}, 1.32, []Segment{text(0, 2, " stop")}, "00:00.000 --> 00:01.320\nstop\n\n"},
		{"markup", Subtitles{}, 0, []Segment{text(0, 1, " AT&T <b> &lt; --> ---->")},
			"00:00.000 --> 00:01.000\nAT&amp;T &lt;b&gt; &amp;lt; -&gt; -&gt;\n\n"},
		{"markup, underlined", Subtitles{HighlightWords: true}, 0, []Segment{words(0, 1, " AT&T", " <b>")},
			"00:00.000 --> 00:01.000\n<u>AT&amp;T</u> &lt;b&gt;\n\n00:01.000 --> 00:02.000\nAT&amp;T <u>&lt;b&gt;</u>\n\n"},
		{"line breaks", Subtitles{}, 0, []Segment{text(0, 1, " one\n\ntwo\r\rthree\u2028four")}, "00:00.000 --> 00:01.000\none  two  three four\n\n"},
		{"line breaks in words", Subtitles{}, 0, []Segment{words(0, 1, " one\n\n", "two")}, "00:00.000 --> 00:02.000\none  two\n\n"},
		{"one segment without words, one without text", Subtitles{}, 0, []Segment{text(0, 1, ""), words(1, 1, " a"), text(2, 3, " b")},
			"00:01.000 --> 00:02.000\na\n\n00:02.000 --> 00:03.000\nb\n\n"},
		{"a bracket opens the next line", Subtitles{MaxLineWidth: 3}, 0, []Segment{words(0, 1, "これ", "「", "日", "」")},
			"00:00.000 --> 00:04.000\nこれ\n「日」\n\n"},
		{"Thai vowels and marks", Subtitles{MaxWordsPerLine: 1}, 0, []Segment{words(0, 1, "ไม", "่", "ดี")},
			"00:00.000 --> 00:02.000\nไม่\n\n00:02.000 --> 00:03.000\nดี\n\n"},
		{"a family", Subtitles{MaxWordsPerLine: 1}, 0, []Segment{words(0, 1, " 👩", "\u200d", "👧")}, "00:00.000 --> 00:03.000\n👩\u200d👧\n\n"},
		{"a number", Subtitles{MaxWordsPerLine: 2}, 0, []Segment{words(0, 1, " costs", " $43", ",000.", " Call")},
			"00:00.000 --> 00:03.000\ncosts $43,000.\n\n00:03.000 --> 00:04.000\nCall\n\n"},
		{"a number of several words", Subtitles{MaxLineWidth: 4}, 0, []Segment{words(0, 1, "劍", "4", "10", "3", "年")}, "00:00.000 --> 00:05.000\n劍\n4103\n年\n\n"},
		{"Chinese without times of words", Subtitles{MaxLineWidth: 4}, 0, []Segment{text(0, 9, "今天天气很好。")},
			"00:00.000 --> 00:09.000\n今天天气\n很好。\n\n"},
		{"Thai without times of words", Subtitles{Composed: true, MaxLineWidth: 4, MaxLineCount: 9}, 0, []Segment{text(0, 6, "ไม่ใช่ครับ")},
			"00:00.000 --> 00:06.000\nไม่ใช่\nครับ\n\n"},
	} {
		var b strings.Builder
		tr, f := &Transcript{Duration: tt.duration, Segments: tt.segments}, VTT
		if tr.hasSpeakers() {
			f = SRT // which has names in the text
		}
		if err := (Options{Subtitles: tt.o}).Write(&b, f, tr); err != nil {
			t.Fatal(err)
		}
		got := strings.TrimPrefix(b.String(), "WEBVTT\n\n")
		if f == SRT {
			got = regexp.MustCompile(`(?m)^\d+\n`).ReplaceAllString(got, "")
			got = regexp.MustCompile(`00:(\d\d:\d\d),`).ReplaceAllString(got, "$1.")
		}
		if want := tt.want; got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, want)
		}
	}
}

// TestHurried: subtitles of fast speech are counted, those that can be read are not.
func TestHurried(t *testing.T) {
	fast := " " + strings.Repeat("unintelligi", 3) + "bilit, " + strings.Repeat("incompre", 4) + "hension."
	tr := &Transcript{Segments: []Segment{
		{Start: 0, End: 3, Text: " Slow.", Words: []Word{{Word: " Slow.", End: 3}}},
		{Start: 4, End: 6, Text: fast, Words: []Word{{Word: fast[:40], Start: 4, End: 5}, {Word: fast[40:], Start: 5, End: 6}}},
		{Start: 6.1, End: 9, Text: " Then slow.", Words: []Word{{Word: " Then", Start: 6.1, End: 7}, {Word: " slow.", Start: 7, End: 9}}},
	}}
	for i := range tr.Segments {
		tr.Segments[i].Speaker = "Ann"
	}
	long := strings.Repeat("Maximiliane ", 6)
	for _, tt := range []struct {
		speaker string
		formats []Format
		want    int
	}{{"Ann", []Format{VTT, SRT}, 1}, {long, []Format{TXT, VTT}, 1}, {long, []Format{VTT, ASS}, 2}} {
		tr.Segments[0].Speaker = tt.speaker
		if hurried, all, cps := (Subtitles{Composed: true, HighlightWords: true}).Hurried(tr, tt.formats); hurried != tt.want || all != 3 || cps != 17 {
			t.Errorf("%s in %s: got %d of %d above %v, want %d of 3 above 17", tt.speaker, tt.formats, hurried, all, cps, tt.want)
		}
	}
}

// TestVoices: WebVTT names the speaker of every cue in its own way.
func TestVoices(t *testing.T) {
	tr := &Transcript{Segments: []Segment{{End: 1, Text: " a", Speaker: "Bob & <Co>"}, {Start: 1, End: 2, Text: " b", Speaker: "Bob & <Co>"}, {Start: 2, End: 3, Text: " c"}}}
	var b strings.Builder
	if err := Write(&b, VTT, tr); err != nil {
		t.Fatal(err)
	}
	want := "WEBVTT\n\n00:00.000 --> 00:01.000\n<v Bob &amp; &lt;Co&gt;>a\n\n00:01.000 --> 00:02.000\n<v Bob &amp; &lt;Co&gt;>b\n\n00:02.000 --> 00:03.000\nc\n\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestPresets: each preset is what its name promises, in what is written: no line too wide, none too many, none too
// short or long, no gap too small or to be closed, none to be read too fast that has room behind it; limits that are set
// hold, and every word is there.
func TestPresets(t *testing.T) {
	limits := map[string]Subtitles{"on": {Composed: true}, "custom": {Composed: true, MaxLineWidth: 20, MaxLineCount: 1, MaxCPS: 10, MinGap: -1, MinDuration: 3 * time.Second, MaxDuration: 4 * time.Second}}
	for _, name := range Presets() {
		limits[name], _ = Preset(name)
	}
	if _, ok := Preset("none"); ok {
		t.Error("a preset that does not exist")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Segment{}
		at := 0.0
		for range rapid.IntRange(1, 60).Draw(t, "words") {
			w := Word{Word: " " + rapid.StringMatching(`[a-zé漢]{1,9}[,.?]?`).Draw(t, "word"), Start: at, End: at + rapid.Float64Range(0, 0.6).Draw(t, "takes")}
			at = w.End + rapid.SampledFrom([]float64{0, 0, 0, 0.3, 3}).Draw(t, "pause")
			s.Words, s.End = append(s.Words, w), w.End
		}
		for name, o := range limits {
			c := o.composer()
			last, lasted, speed, words := math.Inf(-1), 0.0, 0.0, ""
			for _, cue := range shown(o, &Transcript{Segments: []Segment{s}}, true) {
				d := cue.End - cue.Start
				if d < c.shortest-1e-3 || d > c.longest+1e-3 || cue.Start-last < c.gap-1e-3 || strings.Count(cue.Text, "\n") >= c.lines {
					t.Errorf("%s: %+v after %v", name, cue, last)
				}
				for line := range strings.SplitSeq(cue.Text, "\n") {
					if columns(line) > c.width {
						t.Errorf("%s: line %q", name, line)
					}
				}
				if gap := cue.Start - last; gap > c.gap+2e-3 && gap < c.closes-2e-3 && lasted < c.longest-2e-3 {
					t.Errorf("%s: %+v leaves a gap of %v", name, cue, gap)
				}
				if speed > c.cps+1e-6 && cue.Start-last > c.gap+2e-3 && lasted < c.longest-2e-3 {
					t.Errorf("%s: %v columns a second, and room before %+v", name, speed, cue)
				}
				last, lasted, speed = cue.End, d, columns(cue.Text)/d
				words += strings.Join(strings.Fields(cue.Text), "")
			}
			if want := strings.ReplaceAll(JoinWords(s.Words), " ", ""); words != want {
				t.Errorf("%s: shown %q, said %q", name, words, want)
			}
		}
	})
}
