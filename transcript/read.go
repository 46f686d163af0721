package transcript

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"verity/internal/input"
)

// MaxText is the largest text that Read accepts, in bytes: a hundred hours of speech.
const MaxText = 32 << 20

// Read reads txt, md, srt, vtt, ass, tsv, lrc, csv, or the JSON of Verity, openai/whisper or
// whisper.cpp. The content decides the format, not the name, but for .md; any other content is plain text.
// It returns one Cue for each subtitle, line or segment, without line breaks and control
// characters. Times may overlap or run backwards. Only bad JSON, archives and too large a text are errors.
func Read(name string, raw []byte) ([]Cue, error) {
	if len(raw) > MaxText {
		return nil, fmt.Errorf("%s: text of %d bytes, want at most %d", name, len(raw), MaxText)
	}
	if bytes.HasPrefix(raw, []byte("PK\x03\x04")) {
		return nil, fmt.Errorf("%s: is a Word document or another archive, want text; save it as txt", name)
	}
	raw = []byte(input.Text(raw))
	text := strings.ReplaceAll(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\r", "\n")
	head := strings.TrimSpace(text[:min(len(text), 1<<10)])
	var cues []Cue
	switch isJSON := strings.HasPrefix(head, "{") || strings.HasPrefix(head, "["); {
	case isJSON && json.Valid(raw) || strings.EqualFold(path.Ext(name), ".json"):
		if !json.Valid(raw) { // Python writes NaN and Infinity, which are not JSON
			raw = nonNumber.ReplaceAll(raw, []byte("${1}null"))
		}
		cues, err := readJSON(raw)
		if err == nil {
			return cleanCues(cues), nil
		}
		if strings.EqualFold(path.Ext(name), ".json") {
			return nil, fmt.Errorf("%s: not the JSON of a transcript: %w", name, err)
		}
	case strings.EqualFold(path.Ext(name), ".md"):
		cues = []Cue{{Text: markdownPlain(text)}}
	case vttSignature.MatchString(text):
		cues = cleanCues(readVTT(text))
		if len(cues) > 0 || head == "WEBVTT" || strings.EqualFold(path.Ext(name), ".vtt") {
			return cues, nil // none, if a browser shows none
		}
	case cueTimes.MatchString(text):
		cues = readLines(text, cueTimes, true, subtitleText)
	case strings.HasPrefix(head, "[Script Info]"):
		cues = readLines(text, dialogue, false, dialogueText)
	case strings.HasPrefix(head, "start\t"):
		cues = readTable(text, '\t')
	case strings.HasPrefix(head, "start,"):
		cues = readTable(text, ',')
	case lyricTime.MatchString(text):
		cues = readLines(text, lyricTime, false, strings.TrimSpace)
	default:
		cues = []Cue{{Text: text}}
	}
	if cues = cleanCues(cues); len(cues) == 0 { // the format was a wrong guess
		cues = cleanCues([]Cue{{Text: text}})
	}
	return cues, nil
}

// cleanCues drops cues without text, and times that are impossible.
func cleanCues(cues []Cue) []Cue {
	kept := cues[:0]
	for _, l := range cues {
		if l.Text = oneLine(l.Text); l.Text == "" {
			continue
		}
		if !(l.Start >= 0 && l.End > l.Start && l.End < math.MaxInt32) { // NaN too
			l.Start, l.End = 0, 0
		}
		kept = append(kept, l)
	}
	return kept
}

// oneLine returns text as one line. Runs of white space and control characters become one space;
// bytes that are not UTF-8 are dropped.
func oneLine(text string) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case space:
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

const clockTime = `(?:(\d+):)?(\d{1,4}):(\d{1,2})[.,](\d{1,3})`

var (
	cueTimes  = regexp.MustCompile(`(?m)^\s*` + clockTime + `\s*-->\s*` + clockTime)
	nonNumber = regexp.MustCompile(`(:\s*)(?:NaN|-?Infinity)\b`)
	lyricTime = regexp.MustCompile(`(?m)^\[` + clockTime + `\]`)
	dialogue  = regexp.MustCompile(`(?m)^Dialogue:[^,]*,` + clockTime + `,` + clockTime + `(?:,[^,]*){6},`)
	markup    = regexp.MustCompile(`</?[a-zA-Z][^>|]*>|<[\d:.]+>|\{\\[^}]*\}`)
)

// secondsOf returns the time of hours, minutes, seconds and a fraction.
func secondsOf(part []string) float64 {
	number := func(s string) float64 { n, _ := strconv.ParseFloat(cmp.Or(s, "0"), 64); return n }
	return 3600*number(part[0]) + 60*number(part[1]) + number(part[2]) + number("0."+part[3])
}

// readLines reads the formats whose cues begin with a line of times, which begin matches. A cue
// without an end lasts until the next one, the last one 5 s. Its text is the rest of the line, or the
// lines below it up to an empty one. plain removes markup.
func readLines(text string, begin *regexp.Regexp, below bool, plain func(string) string) (cues []Cue) {
	open := false             // the line may belong to the last cue
	var words strings.Builder // of the last cue
	finish := func() {
		if n := len(cues); n > 0 {
			cues[n-1].Text = words.String()
		}
		words = strings.Builder{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := begin.FindStringSubmatch(line); m != nil {
			finish()
			c := Cue{Start: secondsOf(m[1:5])}
			if len(m) > 5 {
				c.End = secondsOf(m[5:9])
			} else {
				c.End = c.Start + 5
				if n := len(cues); n > 0 {
					cues[n-1].End = c.Start
				}
			}
			cues = append(cues, c)
			if open = below; !below {
				words.WriteString(plain(line[len(m[0]):]))
			}
		} else if open = open && strings.TrimSpace(line) != ""; open {
			words.WriteString(" " + plain(line))
		}
	}
	finish()
	return cues
}

const vttTime = `[ \t\f]*(?:(\d+):)?([0-5]\d):([0-5]\d)\.(\d{3})`

var (
	vttSignature = regexp.MustCompile(`^WEBVTT(?:[ \t\n]|$)`)
	vttCue       = regexp.MustCompile(`^` + vttTime + `[ \t\f]*-->` + vttTime + `(?:\D|$)`)
	vttMarkup    = regexp.MustCompile(`<[^>]*(?:>|$)`)
)

// readVTT reads the cues that a browser shows.
//
// Source: W3C, WebVTT, 6.1 and 6.2: a block is a cue if its first or second line has times, and ends before another line
// with an arrow; what is malformed is dropped.
func readVTT(text string) (cues []Cue) {
	const header, start, named, below = 0, 1, 2, 3 // what a line of a block can be, by its number
	var c *Cue
	var words strings.Builder // of c
	finish := func() {
		if c != nil {
			c.Text = html.UnescapeString(vttMarkup.ReplaceAllString(words.String(), ""))
			cues = append(cues, *c)
		}
		c, words = nil, strings.Builder{}
	}
	at, timed := header, false // a line of times was in the block
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\x00", "\ufffd"), "\n") {
		switch arrow := strings.Contains(line, "-->"); {
		case line == "":
			finish()
			at, timed = start, false
		case arrow && (timed || at != start && at != named): // begins a block
			finish()
			at, timed = start, false
			fallthrough
		case arrow:
			timed = true
			if m := vttCue.FindStringSubmatch(line); m != nil {
				c = &Cue{Start: secondsOf(m[1:5]), End: secondsOf(m[5:9])}
			}
			at = below
		case c != nil:
			words.WriteString(line + "\n")
		case at != header:
			at = min(at+1, below)
		}
	}
	finish()
	return cues
}

// subtitleText returns text of srt and vtt without markup.
func subtitleText(text string) string { return html.UnescapeString(markup.ReplaceAllString(text, "")) }

// assEscapes undoes the escapes of ass, and those that assText adds.
var assEscapes = strings.NewReplacer(
	`\N`, " ", `\n`, " ", `\h`, " ", `\{`, "{", `\}`, "}", "\u2060", "")

// dialogueText returns text of ass without markup.
func dialogueText(text string) string { return assEscapes.Replace(markup.ReplaceAllString(text, "")) }

var (
	markdownHeading = regexp.MustCompile(`(?m)^#+ .*$`)
	markdownMargin  = regexp.MustCompile("(?m)^`[\\d:]+` ")
	markdownBold    = regexp.MustCompile(`\*\*([^*\n]*)\*\*`)
	markdownEscape  = regexp.MustCompile(`\\([[:punct:]])`)
)

// markdownPlain returns text of md without its title, times and markup.
func markdownPlain(text string) string {
	text = markdownMargin.ReplaceAllString(markdownHeading.ReplaceAllString(text, ""), "")
	return markdownEscape.ReplaceAllString(markdownBold.ReplaceAllString(text, "$1"), "$1")
}

// readTable reads tsv and csv. The first row names the columns; start and end are in milliseconds.
func readTable(text string, comma rune) (cues []Cue) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	column := map[string]int{}
	for first := true; ; first = false {
		row, err := r.Read()
		if problem := (*csv.ParseError)(nil); errors.As(err, &problem) {
			continue
		}
		if err != nil {
			return cues
		}
		if first {
			for i, name := range row {
				column[strings.TrimSpace(name)] = i + 1
			}
			continue
		}
		field := func(name string) string {
			if i := column[name]; i > 0 && i <= len(row) {
				return row[i-1]
			}
			return ""
		}
		start, _ := strconv.ParseFloat(field("start"), 64)
		end, _ := strconv.ParseFloat(field("end"), 64)
		cues = append(cues, Cue{start / 1000, end / 1000, field("text")})
	}
}

// readJSON reads segments with times in seconds, as Verity and openai/whisper write them, or in
// milliseconds, as whisper.cpp does. Without segments it reads the whole text.
func readJSON(raw []byte) (cues []Cue, err error) {
	var doc struct {
		Text     string
		Segments []struct {
			Start, End float64
			Text       string
		}
		Transcription []struct {
			Offsets struct{ From, To float64 }
			Text    string
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%w; want txt, srt, vtt or json", input.JSON(raw, err))
	}
	for _, s := range doc.Segments {
		cues = append(cues, Cue{s.Start, s.End, s.Text})
	}
	for _, s := range doc.Transcription {
		cues = append(cues, Cue{s.Offsets.From / 1000, s.Offsets.To / 1000, s.Text})
	}
	if len(cues) == 0 {
		cues = []Cue{{Text: doc.Text}}
	}
	return cues, nil
}
