package transcript

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Subtitles configures how the SRT, VTT and ASS formats cut a transcript with word times into
// subtitles. The zero value writes one subtitle per segment. The names are openai/whisper's.
type Subtitles struct {
	// MaxLineWidth is the most characters in a line. 0 means no limit.
	MaxLineWidth int

	// MaxLineCount is the most lines in a subtitle. With both it and MaxLineWidth set,
	// subtitles do not end with their segments. 0 means no limit.
	MaxLineCount int

	// MaxWordsPerLine is the most words of a segment in a subtitle. 0 means no limit.
	MaxWordsPerLine int

	// HighlightWords writes a subtitle for each word, with that word underlined.
	HighlightWords bool

	// Composed cuts subtitles at sentences, clauses and pauses instead, into two lines of 42
	// characters unless MaxLineCount and MaxLineWidth say otherwise. Each stays for at least a
	// second and, where the next one leaves room, as long as it takes to read 17 characters a
	// second. The other fields must be zero.
	Composed bool
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

func writeVTT(b io.Writer, cues []cue) {
	fmt.Fprint(b, "WEBVTT\n\n")
	for _, c := range cues {
		text := c.underline(vttText.Replace, "<u>", "</u>")
		if c.speaker != "" {
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
// player breaks only lines that are wider than the picture; other breaks stay.
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
Style: Default,Arial,64,&H00FFFFFF,&H000000FF,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,3,1,2,96,96,64,1

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
