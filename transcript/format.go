package transcript

import (
	"bufio"
	"fmt"
	"io"

	"verity/tokenizer"
)

// A Format is one way to write a transcript. Its value is also the extension of
// the file.
type Format string

// The formats.
const (
	TXT  Format = "txt"  // a line of text per segment
	SRT  Format = "srt"  // SubRip subtitles
	VTT  Format = "vtt"  // WebVTT subtitles
	ASS  Format = "ass"  // Advanced SubStation Alpha subtitles
	TSV  Format = "tsv"  // start and end in milliseconds, text
	LRC  Format = "lrc"  // lyrics: start and text
	CSV  Format = "csv"  // start and end in milliseconds, text
	JSON Format = "json" // everything
)

// Formats returns all formats.
func Formats() []Format { return []Format{TXT, SRT, VTT, ASS, TSV, LRC, CSV, JSON} }

// Write writes t in format f, with a subtitle for each segment.
func Write(w io.Writer, f Format, t *Transcript) error { return Subtitles{}.Write(w, f, t) }

// Write writes t in format f.
func (o Subtitles) Write(w io.Writer, f Format, t *Transcript) error {
	if f == JSON {
		return writeJSON(w, t)
	}
	b := bufio.NewWriter(w)
	switch f {
	case TXT:
		writeTXT(b, t.WithSpeakerNames())
	case SRT:
		writeSRT(b, o.cues(t.WithSpeakerNames()))
	case VTT:
		writeVTT(b, o.cues(t.WithSpeakerNames()))
	case ASS:
		writeASS(b, o.cues(t.WithSpeakerNames()))
	case TSV:
		writeTSV(b, t)
	case LRC:
		writeLRC(b, t)
	case CSV:
		writeCSV(b, t)
	default:
		return fmt.Errorf("transcript: format %q: unsupported, want one of %v", f, Formats())
	}
	return b.Flush()
}

// Line returns the text of s as a line of the TXT format, without its end.
func (s Segment) TrimmedText() string { return tokenizer.Strip(s.Text) }
