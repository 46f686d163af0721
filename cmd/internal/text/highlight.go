package text

import (
	"os"
	"strings"

	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// line returns a segment as it is shown.
func (t *transcribeCommand) line(s transcript.Segment) string {
	text := s.TrimmedText()
	switch {
	case len(s.Origins) > 0:
		text = t.mark.line(s)
	case t.OutTerminal:
		text = show.Text(text) // a terminal obeys control characters
	}
	if t.timed {
		text = s.TimeRange() + " " + text
	}
	if t.OutTerminal && len(s.Origins) == 0 { // whose escape sequences have no width
		text = strings.Join(cli.Fold(text, columns()), "\n")
	}
	return text
}

// A marker shows which part of a text the assistant drafted.
type marker struct {
	tok     *tokenizer.Tokenizer
	on, off string
}

// newMarker marks by colour, or by underlining if NO_COLOR is set (no-color.org).
func newMarker(tok *tokenizer.Tokenizer) marker {
	if os.Getenv("NO_COLOR") != "" {
		return marker{tok, "\x1b[4m", "\x1b[24m"}
	}
	return marker{tok, "\x1b[32m", "\x1b[39m"}
}

// line returns s.Line() with the drafted parts marked. Space in front of a mark and at the
// ends is left out.
func (m marker) line(s transcript.Segment) string {
	var b strings.Builder
	pieces := s.RunsByDraft(m.tok)
	for i, p := range pieces {
		if i == len(pieces)-1 {
			p.Text = strings.TrimRight(p.Text, " ")
		}
		words := strings.TrimLeft(p.Text, " ")
		b.WriteString(p.Text[:len(p.Text)-len(words)])
		if words = show.Text(words); p.Accepted && words != "" {
			words = m.on + words + m.off
		}
		b.WriteString(words)
	}
	return tokenizer.Strip(b.String())
}
