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

// Schema is the schema field of JSON.
const Schema = "verity.transcribe/1"

func writeTXT(b io.Writer, t *Transcript) {
	for _, s := range t.Segments {
		fmt.Fprintln(b, s.TrimmedText())
	}
}

// table returns a row of column names, then for each segment start and end in milliseconds, the
// speaker if any is known, and the text.
func (t *Transcript) table() [][]string {
	rows := [][]string{{"start", "end", "speaker", "text"}}
	for _, s := range t.Segments {
		rows = append(rows, []string{fmt.Sprint(milliseconds(s.Start)), fmt.Sprint(milliseconds(s.End)), s.Speaker, s.TrimmedText()})
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
	for _, s := range t.Segments {
		if line := s.TrimmedText(); line != "" {
			if s.Speaker != "" {
				line = s.Speaker + ": " + line
			}
			cs := max(0, int64(math.RoundToEven(s.Start*100)))
			fmt.Fprintf(b, "[%02d:%02d.%02d]%s\n", cs/6000, cs/100%60, cs%100, strings.ReplaceAll(line, "\n", " "))
		}
	}
}

// writeCSV follows RFC 4180. Text that a spreadsheet would read as a formula (=1+1) is not
// changed: import the column as text. An error stays in b, whose Flush returns it.
func writeCSV(b *bufio.Writer, t *Transcript) { csv.NewWriter(b).WriteAll(t.table()) }

// A document is a transcript in JSON: upstream's fields, then ours.
type document struct {
	Schema   string            `json:"schema"`
	Audio    string            `json:"audio"`
	Text     string            `json:"text"`
	Language string            `json:"language"`
	LangProb *float64          `json:"language_probability"` // null if the language was not detected
	Duration float64           `json:"duration"`
	Segments []documentSegment `json:"segments"`
	Stats    Stats             `json:"stats"`

	Truncated bool        `json:"truncated,omitempty"`
	Damaged   []Gap       `json:"damaged,omitempty"` // where sound is damaged or lost, and silence stands for it
	MadeBy    *Provenance `json:"made_by,omitempty"` // the model and the options; the program is always in it
}

type documentSegment struct {
	Segment
	Accepted []bool `json:"accepted,omitempty"` // for each token, whether it is an accepted draft of the assistant; absent unless requested
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
	damaged := slices.Clone(t.Damaged)
	for i, g := range damaged {
		damaged[i] = Gap{RoundTime(g.Start), RoundTime(g.End)}
	}
	var prob *float64
	if t.LanguageProb > 0 {
		prob = &t.LanguageProb
	}
	return e.Encode(document{Schema, t.Name, t.Text, t.Language, prob, t.Duration, segments, t.Stats, t.Truncated, damaged, t.MadeBy})
}

// Rounded returns s as JSON has it: with rounded times, and tokens that are not null.
func (s Segment) Rounded() Segment {
	if s.Tokens == nil {
		s.Tokens = []tokenizer.Token{}
	}
	s.Start, s.End, s.Words = RoundTime(s.Start), RoundTime(s.End), slices.Clone(s.Words)
	for i, w := range s.Words {
		s.Words[i].Start, s.Words[i].End = RoundTime(w.Start), RoundTime(w.End)
	}
	return s
}

// RoundTime rounds a time to a tenth of a millisecond, as JSON has it: sums of times end in
// digits that are only errors of floating point.
func RoundTime(seconds float64) float64 { return math.RoundToEven(seconds*1e4) / 1e4 }

// Times returns the times of s as openai/whisper prints them: [00:00.000 --> 00:02.500].
func (s Segment) TimeRange() string {
	return fmt.Sprintf("[%s --> %s]", formatTime(s.Start, false, "."), formatTime(s.End, false, "."))
}

// milliseconds rounds as Python's round does: half to even.
func milliseconds(seconds float64) int64 { return int64(math.RoundToEven(seconds * 1000)) }

// clock formats a time as 01:02:03.004; zero hours are left out unless hours is set. A
// negative time is written as 0.
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
