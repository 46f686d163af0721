package transcript

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"verity/tokenizer"
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

// unlimited is upstream's value for no limit.
const unlimited = 1000

// cues returns the subtitles of t.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, SubtitlesWriter.iterate_result.
func (o Subtitles) cues(t *Transcript) (all []Cue) {
	if o.Composed {
		return o.composed(t)
	}
	if len(t.Segments) == 0 || t.Segments[0].Words == nil {
		for _, s := range t.Segments {
			// An arrow in the text would be read as a time.
			all = append(all, Cue{s.Start, s.End, strings.ReplaceAll(s.TrimmedText(), "-->", "->")})
		}
		return all
	}
	for _, words := range o.split(t) {
		start, end := words[0].Start, words[len(words)-1].End
		if !o.HighlightWords {
			all = append(all, Cue{start, end, joinWords(words)})
			continue
		}
		last := start
		for i, w := range words {
			if milliseconds(last) != milliseconds(w.Start) {
				all = append(all, Cue{last, w.Start, joinWords(words)})
			}
			all = append(all, Cue{w.Start, w.End, highlight(words, i)})
			last = w.End
		}
	}
	return all
}

// split cuts the words of t into subtitles, with line breaks.
func (o Subtitles) split(t *Transcript) [][]Word {
	s := splitter{
		keepSegments: o.MaxLineCount == 0 || o.MaxLineWidth == 0,
		width:        cmp.Or(o.MaxLineWidth, unlimited), lines: o.MaxLineCount, line: 1,
		lastStart: math.Inf(1), // no pause before the first word
	}
	chunk := cmp.Or(o.MaxWordsPerLine, unlimited)
	for i, segment := range t.Segments {
		s.newSpeaker = i > 0 && segment.Speaker != t.Segments[i-1].Speaker
		for from := 0; from < len(segment.Words); from += chunk {
			for i, w := range segment.Words[from:min(from+chunk, len(segment.Words))] {
				s.add(w, i == 0)
			}
		}
	}
	if len(s.words) > 0 {
		s.cues = append(s.cues, s.words)
	}
	return s.cues
}

// A splitter collects words into lines and lines into subtitles.
type splitter struct {
	keepSegments bool
	width, lines int // limits; lines 0 means no limit

	newSpeaker bool // the next segment is another speaker's

	words     []Word  // of the subtitle so far
	length    int     // of its last line
	line      int     // number of its last line
	lastStart float64 // start of the word before
	cues      [][]Word
}

// add adds a word. first means that it begins its segment or a chunk of MaxWordsPerLine words.
func (s *splitter) add(w Word, first bool) {
	pause := !s.keepSegments && w.Start-s.lastStart > 3
	breaks := first && len(s.words) > 0 && (s.keepSegments || s.newSpeaker)
	n := utf8.RuneCountInString(w.Word)
	if s.length > 0 && s.length+n <= s.width && !pause && !breaks {
		s.length += n
	} else {
		w.Word = tokenizer.Strip(w.Word)
		if len(s.words) > 0 && s.lines > 0 && (pause || s.line >= s.lines) || breaks {
			s.cues, s.words, s.line = append(s.cues, s.words), nil, 1
		} else if s.length > 0 {
			s.line++
			w.Word = "\n" + w.Word
		}
		s.length = utf8.RuneCountInString(tokenizer.Strip(w.Word))
	}
	s.words = append(s.words, w)
	s.lastStart = w.Start
}

func joinWords(words []Word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.Word)
	}
	return b.String()
}

// highlight returns the words with word i underlined.
func highlight(words []Word, i int) string {
	words = slices.Clone(words)
	words[i].Word = underline(words[i].Word)
	return joinWords(words)
}

// underline marks a word, after the white space before it. A word that contains a line break stays
// unchanged, as with upstream's regular expression.
func underline(word string) string {
	text, end := strings.TrimSuffix(tokenizer.Strip(word+"x"), "x"), "" // without leading white space
	if strings.HasSuffix(text, "\n") {
		text, end = text[:len(text)-1], "\n"
	}
	if strings.Contains(text, "\n") {
		return word
	}
	return word[:len(word)-len(text)-len(end)] + "<u>" + text + "</u>" + end
}

func writeSRT(b io.Writer, cues []Cue) {
	for i, c := range cues {
		start, end := formatTime(c.Start, true, ","), formatTime(c.End, true, ",")
		fmt.Fprintf(b, "%d\n%s --> %s\n%s\n\n", i+1, start, end, c.Text)
	}
}

func writeVTT(b io.Writer, cues []Cue) {
	fmt.Fprint(b, "WEBVTT\n\n")
	for _, c := range cues {
		fmt.Fprintf(b, "%s --> %s\n%s\n\n", formatTime(c.Start, false, "."), formatTime(c.End, false, "."), c.Text)
	}
}

// writeASS writes Advanced SubStation Alpha, with one style for all.
func writeASS(b io.Writer, cues []Cue) {
	fmt.Fprint(b, assHead)
	for _, c := range cues {
		start, end := assClock(c.Start), assClock(c.End)
		fmt.Fprintf(b, "Dialogue: 0,%s,%s,Default,,0,0,0,,%s\n", start, end, assText.Replace(c.Text))
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
var assText = strings.NewReplacer("\n", `\N`, `\`, "\\\u2060", "{", `\{`, "}", `\}`, "<u>", `{\u1}`, "</u>", `{\u0}`)

// assClock formats a time as 1:02:03.04.
func assClock(seconds float64) string {
	cs := max(0, int64(math.RoundToEven(seconds*100)))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360_000, cs/6000%60, cs/100%60, cs%100)
}
