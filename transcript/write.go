package transcript

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"verity/tokenizer"
)

// A Format is a file format for transcripts: [TXT], [MD], [DOCX], [SRT], [VTT], [ASS], [TSV], [LRC], [CSV], [JSON] or
// [RTTM]. Its value is also the file extension.
type Format string

// The formats.
const (
	TXT  Format = "txt"  // text in paragraphs
	MD   Format = "md"   // Markdown: a title and paragraphs
	DOCX Format = "docx" // a Word document: the same
	SRT  Format = "srt"  // SubRip subtitles
	VTT  Format = "vtt"  // WebVTT subtitles
	ASS  Format = "ass"  // Advanced SubStation Alpha subtitles
	TSV  Format = "tsv"  // start and end in milliseconds, text
	LRC  Format = "lrc"  // lyrics: start and text
	CSV  Format = "csv"  // start and end in milliseconds, text
	JSON Format = "json" // everything
	RTTM Format = "rttm" // who speaks when, without text, as NIST's evaluations have it
)

// Formats returns all formats.
func Formats() []Format { return []Format{TXT, MD, DOCX, SRT, VTT, ASS, TSV, LRC, CSV, JSON, RTTM} }

// Options configures the formats. The zero value writes paragraphs in TXT, and a subtitle per segment.
type Options struct {
	Subtitles Subtitles

	// Lines writes TXT with a line for each segment, as openai/whisper does.
	Lines bool

	// Times writes times: in MD and DOCX the start of each paragraph, in TXT a line for each segment, or sentence where
	// words are timed, with start and end.
	Times bool

	// About is a line below the title in MD and DOCX, as when and how long a recording is.
	About string

	// Table writes DOCX with a table of times, speakers and text.
	Table bool

	// Highlight, if not empty, is what stands in texts where a highlight of DOCX begins and ends.
	Highlight string

	// Locale, such as en-US or de_DE.UTF-8, decides the size of the page in DOCX: Letter where that is used, else A4.
	Locale string
}

// Write writes t in format f with the default options.
func Write(w io.Writer, f Format, t *Transcript) error { return Options{}.Write(w, f, t) }

// Write writes t in format f.
func (o Options) Write(w io.Writer, f Format, t *Transcript) error {
	switch f {
	case JSON:
		return writeJSON(w, t)
	case DOCX:
		return o.writeDOCX(w, t)
	}
	b := bufio.NewWriter(w)
	switch f {
	case TXT:
		o.writeText(b, t)
	case MD:
		o.writeMarkdown(b, t)
	case SRT:
		writeSRT(b, o.Subtitles.cues(t, true, 1000))
	case VTT:
		writeVTT(b, o.Subtitles.cues(t, false, 1000), !o.Subtitles.Unnamed) // names are tags there
	case ASS:
		writeASS(b, o.Subtitles.cues(t, true, 100))
	case TSV:
		writeTSV(b, t)
	case LRC:
		writeLRC(b, t)
	case CSV:
		// RFC 4180, after a byte order mark, without which spreadsheets read another encoding than UTF-8. Text that a
		// spreadsheet would read as a formula (=1+1) stays: import the column as text. Flush returns an error.
		b.WriteString("\ufeff")
		csv.NewWriter(b).WriteAll(t.table())
	case RTTM:
		writeRTTM(b, t)
	default:
		return fmt.Errorf("transcript: format %q: unsupported, want one of %s", f,
			strings.ReplaceAll(strings.Trim(fmt.Sprint(Formats()), "[]"), " ", ", "))
	}
	return b.Flush()
}

// TrimmedText returns the text of s without white space at its ends.
func (s Segment) TrimmedText() string { return tokenizer.Strip(s.Text) }

// Schema is the schema field of JSON.
const Schema = "verity.transcribe/1"

// table returns a row of column names, then for each segment start and end in milliseconds, the
// speaker if any is known, and the text.
func (t *Transcript) table() [][]string {
	rows := [][]string{{"start", "end", "speaker", "text"}}
	for _, c := range t.rows(1000) {
		start, end := fmt.Sprint(milliseconds(c.start)), fmt.Sprint(milliseconds(c.end))
		rows = append(rows, []string{start, end, c.speaker, c.parts[0].text})
	}
	if !t.hasSpeakers() {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 2, 3)
		}
	}
	return rows
}

func writeTSV(b io.Writer, t *Transcript) {
	for _, row := range t.table() {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "\t", " ")
		}
		fmt.Fprintln(b, strings.Join(row, "\t"))
	}
}

// writeLRC writes lyrics: a line per segment with its start, as in whisper.cpp.
func writeLRC(b io.Writer, t *Transcript) {
	for _, c := range t.rows(100) {
		line := c.parts[0].text
		if c.speaker != "" {
			line = c.speaker + ": " + line
		}
		cs := int64(math.RoundToEven(c.start * 100))
		fmt.Fprintf(b, "[%02d:%02d.%02d]%s\n", cs/6000, cs/100%60, cs%100, line)
	}
}

// A document is a transcript in JSON: upstream's fields, then ours.
type document struct {
	Schema   string            `json:"schema"`               // name and version of this format
	Audio    string            `json:"audio"`                // the file, as named
	Text     string            `json:"text"`                 // the text
	Language string            `json:"language"`             // code of the language
	LangProb *float64          `json:"language_probability"` // null if the language was not detected
	Duration float64           `json:"duration"`             // length of the audio
	Segments []documentSegment `json:"segments"`             // pieces of text with times
	Turns    []Turn            `json:"turns,omitempty"`      // who speaks when, if speakers are identified by voice
	Stats    Stats             `json:"stats"`                // what the work was

	Truncated bool         `json:"truncated,omitempty"`   // the file ended before its header says
	Damaged   []Gap        `json:"damaged,omitempty"`     // where silence replaces sound that is damaged or lost
	Warnings  []string     `json:"warnings,omitempty"`    // what was wrong with the sound
	Gaps      []Gap        `json:"gaps,omitempty"`        // speech that a detector heard and that no words cover
	Differs   []Difference `json:"differences,omitempty"` // where the text of --align and the sound do not agree
	MadeBy    *Provenance  `json:"made_by,omitempty"`     // the program, the model and the options
}

type documentSegment struct {
	Segment
	// For each token, whether it is an accepted draft of the assistant; absent unless requested.
	Accepted []bool `json:"accepted,omitempty"`
}

// writeJSON writes t as one line. Times are rounded.
func writeJSON(w io.Writer, t *Transcript) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	segments := make([]documentSegment, len(t.Segments))
	for i, s := range t.Segments {
		segments[i].Segment = s.Rounded()
		for _, m := range s.Origins {
			segments[i].Accepted = append(segments[i].Accepted, m.Accepted)
		}
	}
	var prob *float64
	if t.LanguageProb > 0 {
		prob = &t.LanguageProb
	}
	return e.Encode(document{
		Schema, t.Name, t.Text, t.Language, prob, t.Duration, segments, roundedTurns(t.Turns), t.Stats, t.Truncated,
		roundedGaps(t.Damaged), t.Warnings, roundedGaps(t.Gaps), roundedDifferences(t.Differences), t.MadeBy,
	})
}

// roundedGaps returns gaps as JSON contains them.
func roundedGaps(gaps []Gap) []Gap {
	gaps = slices.Clone(gaps)
	for i, g := range gaps {
		gaps[i] = Gap{RoundTime(g.Start), RoundTime(g.End)}
	}
	return gaps
}

// roundedDifferences returns differences as JSON contains them.
func roundedDifferences(list []Difference) []Difference {
	list = slices.Clone(list)
	for i := range list {
		list[i].Start, list[i].End = RoundTime(list[i].Start), RoundTime(list[i].End)
	}
	return list
}

// Rounded returns s as JSON contains it: with rounded times, words of whole characters, and tokens that are not null.
func (s Segment) Rounded() Segment {
	if s.Tokens == nil {
		s.Tokens = []tokenizer.Token{}
	}
	s.Start, s.End, s.Words = RoundTime(s.Start), RoundTime(s.End), joined(s.Words, wholeCharacters)
	for i, w := range s.Words {
		s.Words[i].Start, s.Words[i].End = RoundTime(w.Start), RoundTime(w.End)
	}
	return s
}

// RoundTime rounds a time to a tenth of a millisecond, as in JSON. The digits after it are only
// errors of floating point.
func RoundTime(seconds float64) float64 { return math.RoundToEven(seconds*1e4) / 1e4 }

// milliseconds rounds as Python's round does: half to even.
func milliseconds(seconds float64) int64 { return int64(math.RoundToEven(seconds * 1000)) }

// formatTime formats a time as 01:02:03.004, without zero hours unless hours is set. Negative times become 0.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, format_timestamp.
func formatTime(seconds float64, hours bool, point string) string {
	ms := max(0, milliseconds(seconds))
	h, m, s := ms/3_600_000, ms/60_000%60, ms/1000%60
	text := fmt.Sprintf("%02d:%02d%s%03d", m, s, point, ms%1000)
	if hours || h > 0 {
		text = fmt.Sprintf("%02d:%s", h, text)
	}
	return text
}
