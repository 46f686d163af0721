package transcript

import (
	"fmt"
	"io"
	"strings"
	"unicode"
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

// Strip removes white space from both ends of s, as Python's str.strip does: its
// white space is Unicode's and the separators U+001C … U+001F.
func Strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
	})
}

// Line returns the text of s as a line of the TXT format, without its end.
func (s Segment) Line() string { return Strip(s.Text) }
