package transcript

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Subtitles configures how the SRT, VTT and ASS formats cut a transcript with word times into
// subtitles. The zero value writes one subtitle per segment. The names of the first four are openai/whisper's.
type Subtitles struct {
	// MaxLineWidth is the most characters in a line. 0 means no limit, with Composed 42 columns.
	MaxLineWidth int

	// MaxLineCount is the most lines in a subtitle. With both it and MaxLineWidth set,
	// subtitles do not end with their segments. 0 means no limit, with Composed two lines.
	MaxLineCount int

	// MaxWordsPerLine is the most words of a segment in a subtitle. 0 means no limit. Not with Composed.
	MaxWordsPerLine int

	// HighlightWords writes a subtitle for each word, with that word underlined.
	HighlightWords bool

	// Composed cuts subtitles at sentences, clauses and pauses instead, for reading. The fields below are for
	// it alone.
	Composed bool

	// MaxCPS is the most columns that a reader reads in a second: where the next subtitle leaves room, each stays
	// long enough for it. People may speak faster. 0 means 17.
	MaxCPS float64

	// MinGap is the time between subtitles. 0 means 80 ms, two frames of television; a negative one means none.
	MinGap time.Duration

	// CloseGaps lengthens a subtitle that ends less than this before the next, until MinGap before it. 0 means none.
	CloseGaps time.Duration

	// Dash begins what each of two people says in one subtitle, where they answer each other too quickly for a subtitle
	// each. The names of speakers are then left out of the text, but not of the voice tags of VTT. Empty means no such
	// subtitles.
	Dash string

	// Unnamed leaves out the names of speakers, who still have subtitles of their own. VTT has no voice tags then.
	Unnamed bool

	// MinDuration is how long a subtitle stays at least, MaxDuration at most. 0 means 1 s and 7 s.
	MinDuration, MaxDuration time.Duration
}

// Durations returns how long subtitles stay at least and at most, with the defaults.
func (o Subtitles) Durations() (least, most time.Duration) {
	return max(0, cmp.Or(o.MinDuration, time.Second)), max(0, cmp.Or(o.MaxDuration, 7*time.Second))
}

// A Row is a subtitle as an editor shows it.
type Row struct {
	Start float64 `json:"start"` // s
	End   float64 `json:"end"`   // s
	Text  string  `json:"text"`  // as SRT has it

	First int   `json:"first"` // index of its first word among all of the transcript
	Words int   `json:"words"` // how many it has
	Lines []int `json:"lines"` // indices of the words that begin a line, but the first

	CPS   float64 `json:"cps"`   // columns to read in a second
	Fast  bool    `json:"fast"`  // more than MaxCPS
	Long  bool    `json:"long"`  // has too many lines
	Wide  bool    `json:"wide"`  // has a line of too many columns
	Fixed bool    `json:"fixed"` // was made by hand: Segment.Fixed
}

// Rows returns the subtitles of t as SRT has them, each with the words that it is made of. For Composed.
func (o Subtitles) Rows(t *Transcript) []Row {
	c, rows := o.composer(), []Row{}
	for _, one := range o.cues(t, true, 1000) {
		text, _, _ := one.text()
		row := Row{Start: one.start, End: one.end, Text: text, First: math.MaxInt, Lines: []int{}, Fixed: one.parts[0].fixed}
		row.CPS, row.Fast = RoundTime(columns(text)/(one.end-one.start)), c.hurries(one, text)
		for i, p := range one.parts {
			row.First, row.Words = min(row.First, p.word), max(row.Words, p.word+p.words)
			if i > 0 && (p.newline || p.dash != "") {
				row.Lines = append(row.Lines, p.word)
			}
		}
		row.Words -= row.First
		row.Long = len(row.Lines) >= c.lines
		row.Wide = slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return columns(line) > c.width })
		rows = append(rows, row)
	}
	return rows
}

// hurries reports whether a cue with that text is too short to be read.
func (c composer) hurries(one cue, text string) bool {
	return columns(text) > c.cps*(one.end-one.start)+0.01
}

// Hurried returns how many of the subtitles of t must be read faster than cps, which is MaxCPS or its default, and how
// many there are. In VTT alone, names of speakers are not read.
func (o Subtitles) Hurried(t *Transcript, formats []Format) (hurried, all int, cps float64) {
	o.HighlightWords = false
	c := o.composer()
	names := slices.Contains(formats, SRT) || slices.Contains(formats, ASS)
	for _, cue := range o.cues(t, names, 1000) {
		if text, _, _ := cue.text(); c.hurries(cue, text) {
			hurried++
		}
		all++
	}
	return hurried, all, c.cps
}

// presets are subtitles by the public rules of a broadcaster or service, for English and languages like it. What
// its rules leave open is as without them.
//
// Where two people speak in one subtitle, each begins with a mark: "– " for the BBC, "-" for Netflix.
//
// Sources: BBC Subtitle Guidelines (bbc.github.io/subtitle-guidelines): lines of 37 characters, 160 to 180 words a
// minute, which is 17 characters a second. Netflix, English Template Timed Text Style Guide
// (partnerhelp.netflixstudios.com): 42 characters, 17 a second, 5/6 s to 7 s, a gap of two frames, at 24 a second; by its
// Subtitle Timing Guidelines, gaps of less than twelve frames are closed to two.
// TED Translators Wiki, Cheat-sheet of 2016 (translations.ted.com): 42 characters, 21 a second, 1 s to 7 s.
// YouTube, and the upright videos that it calls Shorts and others Reels, have no rules: these are ours, with subtitles
// that do not flicker between sentences and, on the narrow picture, a line of 20 characters.
var presets = []struct {
	name  string
	rules Subtitles
}{
	{"bbc", Subtitles{MaxLineWidth: 37, MaxLineCount: 2, MaxCPS: 17, Dash: "– "}},
	{"netflix", Subtitles{MaxLineWidth: 42, MaxLineCount: 2, MaxCPS: 17, Dash: "-", MinGap: 2 * time.Second / 24,
		CloseGaps: 12 * time.Second / 24, MinDuration: 5 * time.Second / 6, MaxDuration: 7 * time.Second}},
	{"ted", Subtitles{MaxLineWidth: 42, MaxLineCount: 2, MaxCPS: 21, MinDuration: time.Second, MaxDuration: 7 * time.Second}},
	{"youtube", Subtitles{MaxLineWidth: 42, MaxLineCount: 2, MaxCPS: 20, MinGap: -1, CloseGaps: time.Second / 2}},
	{"shorts", Subtitles{MaxLineWidth: 20, MaxLineCount: 1, MaxCPS: 20, MinGap: -1, CloseGaps: time.Second / 2,
		MinDuration: time.Second / 2, MaxDuration: 3 * time.Second}},
}

// Presets returns the names of the sets of rules that [Preset] knows.
func Presets() (names []string) {
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// Preset returns subtitles by the rules of a broadcaster or service.
func Preset(name string) (s Subtitles, ok bool) {
	for _, p := range presets {
		if p.name == name {
			s, ok = p.rules, true
			s.Composed = true
		}
	}
	return s, ok
}

// underline returns the text of a cue, written by a format's escape, with the tags around what is underlined.
func (c cue) underline(escape func(string) string, on, off string) string {
	before, marked, after := c.text()
	if marked != "" {
		marked = on + escape(marked) + off
	}
	return escape(before) + marked + escape(after)
}

func writeSRT(b io.Writer, cues []cue) {
	for i, c := range cues {
		start, end := formatTime(c.start, true, ","), formatTime(c.end, true, ",")
		text := c.underline(func(text string) string { return text }, "<u>", "</u>")
		fmt.Fprintf(b, "%d\n%s --> %s\n%s\n\n", i+1, start, end, text)
	}
}

// vttText escapes what WebVTT would read as markup.
var vttText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// writeVTT writes WebVTT. Players know the speaker of a cue by its voice tag.
func writeVTT(b io.Writer, cues []cue, voices bool) {
	fmt.Fprint(b, "WEBVTT\n\n")
	for _, c := range cues {
		text := c.underline(vttText.Replace, "<u>", "</u>")
		if voices && c.speaker != "" {
			text = "<v " + vttText.Replace(c.speaker) + ">" + text
		}
		fmt.Fprintf(b, "%s --> %s\n%s\n\n", formatTime(c.start, false, "."), formatTime(c.end, false, "."), text)
	}
}

// writeASS writes Advanced SubStation Alpha, with one style for all.
func writeASS(b io.Writer, cues []cue) {
	fmt.Fprint(b, assHead)
	for _, c := range cues {
		text := c.underline(assText.Replace, `{\u1}`, `{\u0}`)
		fmt.Fprintf(b, "Dialogue: 0,%s,%s,Default,,0,0,0,,%s\n", assClock(c.start), assClock(c.end), text)
	}
}

// assHead is white text with a black outline, at the bottom of a picture of 1920 by 1080. The
// player breaks only lines that are wider than the picture; other breaks stay. With the encoding -1 it finds the direction.
const assHead = `[Script Info]
ScriptType: v4.00+
PlayResX: 1920
PlayResY: 1080
WrapStyle: 0
ScaledBorderAndShadow: yes

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, ` +
	`Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, ` +
	`BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,64,&H00FFFFFF,&H000000FF,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,3,1,2,96,96,64,-1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
`

// assText escapes what ass would read as a command: a word joiner follows each backslash, and a
// backslash precedes each brace.
var assText = strings.NewReplacer("\n", `\N`, `\`, "\\\u2060", "{", `\{`, "}", `\}`)

// assClock formats a time as 1:02:03.04.
func assClock(seconds float64) string {
	cs := max(0, int64(math.RoundToEven(seconds*100)))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360_000, cs/6000%60, cs/100%60, cs%100)
}
