package transcript

import (
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
	TSV  Format = "tsv"  // start and end in milliseconds, text
	JSON Format = "json" // everything
)

// Formats returns all formats.
func Formats() []Format { return []Format{TXT, SRT, VTT, TSV, JSON} }

// Write writes t in format f.
func Write(w io.Writer, f Format, t *Transcript) error {
	switch f {
	case TXT:
		return writeTXT(w, t)
	case SRT:
		return writeSRT(w, t)
	case VTT:
		return writeVTT(w, t)
	case TSV:
		return writeTSV(w, t)
	case JSON:
		return writeJSON(w, t)
	}
	return fmt.Errorf("transcript: format %q: unsupported, want one of %v", f, Formats())
}

// Line returns the text of s as a line of the TXT format, without its end.
func (s Segment) Line() string { return tokenizer.Strip(s.Text) }
