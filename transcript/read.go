package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"verity/internal/input"
	"verity/tokenizer"
)

// MaxText is the largest text that Read accepts, in bytes: a hundred hours of speech.
const MaxText = 32 << 20

// Read reads txt, srt, vtt, or the JSON of Verity, openai/whisper or whisper.cpp. The content decides the format; any
// other content is plain text. It returns one Cue for each subtitle or segment, without line breaks and control
// characters. Times may overlap or run backwards. Bad JSON, archives, too large a text and the names of other formats
// are errors.
func Read(name string, raw []byte) ([]Cue, error) { return read(name, raw, oneLine) }

// ReadLines is Read, but keeps line breaks.
func ReadLines(name string, raw []byte) ([]Cue, error) { return read(name, raw, cleanLines) }

// read cleans the text of every cue.
func read(name string, raw []byte, clean func(string) string) ([]Cue, error) {
	if len(raw) > MaxText {
		return nil, fmt.Errorf("%s: text of %d bytes, want at most %d", name, len(raw), MaxText)
	}
	if bytes.HasPrefix(raw, []byte("PK\x03\x04")) {
		return nil, fmt.Errorf("%s: is a Word document or another archive, want text; save it as txt", name)
	}
	switch ending := strings.ToLower(path.Ext(name)); ending {
	case ".ass", ".tsv", ".lrc", ".csv", ".md", ".rttm":
		return nil, fmt.Errorf("%s: is %s, want txt, srt, vtt or json", name, ending[1:])
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
			return cleanCues(cues, clean), nil
		}
		if strings.EqualFold(path.Ext(name), ".json") {
			return nil, fmt.Errorf("%s: not the JSON of a transcript: %w", name, err)
		}
	case vttSignature.MatchString(text):
		cues = cleanCues(readVTT(text), clean)
		if len(cues) > 0 || head == "WEBVTT" || strings.EqualFold(path.Ext(name), ".vtt") {
			return cues, nil // none, if a browser shows none
		}
	case cueTimes.MatchString(text):
		cues = readSRT(text)
	default:
		cues = []Cue{{Text: text}}
	}
	if cues = cleanCues(cues, clean); len(cues) == 0 { // the format was a wrong guess
		cues = cleanCues([]Cue{{Text: text}}, clean)
	}
	return cues, nil
}

// Open reads srt, vtt or JSON, as Read does, to go on with the transcript. A subtitle becomes a fixed segment, with its lines. JSON may have
// speakers, words and a language; words that stand apart from the segments, as in OpenAI's verbose_json, go to those that
// have them in their text. Text without times is an error. What it left out or moved is said in lost, in sentences.
func Open(name string, raw []byte) (t *Transcript, lost []string, err error) {
	cues, err := ReadLines(name, raw)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(cues, Cue.HasTimes) {
		return nil, nil, fmt.Errorf("%s: there are no texts with times in it; want srt, vtt, or the JSON of a transcript", name)
	}
	var doc struct {
		Language string
		Duration float64
		Segments []struct {
			Start, End    float64
			Text, Speaker string
			Fixed         bool
			Words         []Word
		}
		Words []Word
	}
	isJSON := !errors.As(json.Unmarshal([]byte(input.Text(raw)), &doc), new(*json.SyntaxError)) // members of other types are left out
	if !isJSON {
		lost = lostOf(input.Text(raw))
	}
	t = &Transcript{Name: name, Language: doc.Language, Duration: doc.Duration}
	for _, s := range doc.Segments {
		clean := oneLine
		if s.Fixed {
			clean = cleanLines
		}
		t.Segments = append(t.Segments, Segment{Start: s.Start, End: s.End, Text: clean(s.Text), Speaker: s.Speaker, Fixed: s.Fixed, Words: s.Words})
	}
	if len(doc.Segments) == 0 {
		for _, c := range cues {
			if isJSON {
				c.Text = oneLine(c.Text)
			}
			t.Segments = append(t.Segments, Segment{Start: c.Start, End: c.End, Text: c.Text, Speaker: c.Speaker, Fixed: !isJSON})
		}
	}
	end, moved, untimed := 0.0, 0, 0
	t.Segments = slices.DeleteFunc(t.Segments, func(s Segment) bool { return s.Text == "" })
	for i := range t.Segments {
		s := &t.Segments[i]
		if !(s.Start >= 0 && s.End >= s.Start && s.End < math.MaxInt32) || s.End == 0 {
			s.Start, s.End = end, end
			moved++
		}
		if len(s.Words) == 0 {
			s.Words, doc.Words = takeWords(s.Text, doc.Words)
		}
		if coveredBy(s.Text, s.Words) == 0 || !inOrder(s.Words) {
			untimed += min(len(s.Words), 1)
			s.Words = nil
		}
		end = s.End
		t.Duration = max(t.Duration, end)
	}
	if isJSON && moved > 0 {
		lost = append(lost, fmt.Sprintf("Segments without times: %d. They stand at the end of the one before.", moved))
	}
	if untimed > 0 {
		lost = append(lost, fmt.Sprintf("Segments whose words do not fit their text: %d. Their times are estimated.", untimed))
	}
	slices.SortStableFunc(t.Segments, func(a, b Segment) int { return cmp.Compare(a.Start, b.Start) })
	return t, lost, nil
}

// lostOf says what Open leaves out of SRT or VTT, and which subtitles it moves.
func lostOf(text string) (lost []string) {
	times, number := cueTimes, 0
	if vttSignature.MatchString(text) {
		times = vttCue
	}
	var unread, reversed []int // numbers of lines
	for line := range strings.SplitSeq(text, "\n") {
		number++
		switch m := times.FindStringSubmatch(line); {
		case m != nil && secondsOf(m[1:5]) >= secondsOf(m[5:9]):
			reversed = append(reversed, number)
		case m == nil && meantAsTimes.MatchString(line):
			unread = append(unread, number)
		}
	}
	if len(unread) > 0 {
		lost = append(lost, "Left out, as the time cannot be read: "+linesNamed(unread)+".")
	}
	if len(reversed) > 0 {
		lost = append(lost, "Moved to the end of the one before, as it ends before it starts: "+linesNamed(reversed)+".")
	}
	if styles.MatchString(text) {
		lost = append(lost, "Styles and positions are left out.")
	}
	return lost
}

// linesNamed names lines by their numbers: line 3; lines 3, 7, 9 and 20 more.
func linesNamed(numbers []int) string {
	const most = 6
	if len(numbers) == 1 {
		return fmt.Sprint("line ", numbers[0])
	}
	var named []string
	for _, n := range numbers[:min(len(numbers), most)] {
		named = append(named, strconv.Itoa(n))
	}
	if more := len(numbers) - most; more > 0 {
		return fmt.Sprintf("lines %s and %d more", strings.Join(named, ", "), more)
	}
	last := len(named) - 1
	return "lines " + strings.Join(named[:last], ", ") + " and " + named[last]
}

// takeWords returns the words of a text, and those after them; none if it has others, as where somebody changed it.
func takeWords(text string, words []Word) (taken, rest []Word) {
	const ahead = 100 // words of a text before, that was changed
	for i := range min(len(words), ahead) {
		if n := coveredBy(text, words[i:]); n > 0 {
			return words[i : i+n], words[i+n:]
		}
	}
	return nil, words
}

// coveredBy returns how many of the words, from the first on, have all letters and digits of a text; 0 if they have others.
func coveredBy(text string, words []Word) int {
	for i, w := range words {
		before, after, found := strings.Cut(text, tokenizer.Strip(w.Word))
		if !found || strings.ContainsFunc(before, isSpoken) {
			return 0
		}
		if text = after; !strings.ContainsFunc(text, isSpoken) {
			return i + 1
		}
	}
	return 0
}

func isSpoken(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// inOrder reports whether words follow each other in time.
func inOrder(words []Word) bool {
	at := 0.0
	for _, w := range words {
		if !(w.Start >= at && w.End >= w.Start && w.End > 0 && w.End < math.MaxInt32) {
			return false
		}
		at = w.Start
	}
	return true
}

// cleanCues drops cues without text, and times that are impossible.
func cleanCues(cues []Cue, clean func(string) string) []Cue {
	kept := cues[:0]
	for _, l := range cues {
		if l.Text = clean(l.Text); l.Text == "" {
			continue
		}
		if !(l.Start >= 0 && l.End > l.Start && l.End < math.MaxInt32) { // NaN too
			l.Start, l.End = 0, 0
		}
		kept = append(kept, l)
	}
	return kept
}

// cleanLines cleans each line, and leaves out empty ones.
func cleanLines(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
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
	cueTimes     = regexp.MustCompile(`(?m)^\s*` + clockTime + `\s*-->\s*` + clockTime)
	nonNumber    = regexp.MustCompile(`(:\s*)(?:NaN|-?Infinity)\b`)
	meantAsTimes = regexp.MustCompile(`^\s*(?:\S*\s*-->|\d\S*\s*->|\d+:\d+:\d+[.,]\d)`)
	styles       = regexp.MustCompile(`(?i)</?[biu]>|<font\b|<c\.|\{\\a|(?m:-->.*\d\s+(?:align|line|position|size|vertical):)`)
	markup       = regexp.MustCompile(`</?[a-zA-Z][^>|]*>|<[\d:.]+>|\{\\[^}]*\}`)
)

// secondsOf returns the time of hours, minutes, seconds and a fraction.
func secondsOf(part []string) float64 {
	number := func(s string) float64 { n, _ := strconv.ParseFloat(cmp.Or(s, "0"), 64); return n }
	return 3600*number(part[0]) + 60*number(part[1]) + number(part[2]) + number("0."+part[3])
}

// readSRT reads cues of a line of times and the lines below it up to an empty one.
func readSRT(text string) (cues []Cue) {
	open := false             // the line belongs to the last cue
	var words strings.Builder // of the last cue
	finish := func() {
		if n := len(cues); n > 0 {
			cues[n-1].Text = html.UnescapeString(markup.ReplaceAllString(words.String(), ""))
		}
		words = strings.Builder{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := cueTimes.FindStringSubmatch(line); m != nil {
			finish()
			cues, open = append(cues, Cue{Start: secondsOf(m[1:5]), End: secondsOf(m[5:9])}), true
		} else if open = open && strings.TrimSpace(line) != ""; open {
			words.WriteString(line + "\n")
		}
	}
	finish()
	return cues
}

const vttTime = `[ \t\f]*(?:(\d+):)?([0-5]\d):([0-5]\d)\.(\d{3})`

var (
	vttSignature = regexp.MustCompile(`^WEBVTT(?:[ \t\n]|$)`)
	vttCue       = regexp.MustCompile(`^` + vttTime + `[ \t\f]*-->` + vttTime + `(?:\D|$)`)
	vttVoice     = regexp.MustCompile(`^<v(?:\.[^ \t\n>]*)?[ \t\n]([^>]*)>`)
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
			if voice := vttVoice.FindStringSubmatch(words.String()); voice != nil {
				c.Speaker = html.UnescapeString(oneLine(voice[1]))
			}
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
		cues = append(cues, Cue{Start: s.Start, End: s.End, Text: s.Text})
	}
	for _, s := range doc.Transcription {
		cues = append(cues, Cue{Start: s.Offsets.From / 1000, End: s.Offsets.To / 1000, Text: s.Text})
	}
	if len(cues) == 0 {
		cues = []Cue{{Text: doc.Text}}
	}
	return cues, nil
}
