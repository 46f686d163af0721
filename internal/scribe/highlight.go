package scribe

import (
	"os"
	"strings"

	"verity/internal/command"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// marks reports whether drafted text is to be marked, or an error about the flag.
func (t *transcribeCommand) marks(out sink) (bool, error) {
	_, text := out.(lines)
	switch {
	case t.highlight == "never":
		return false, nil
	case !text:
		return false, command.Usagef("--highlight marks text on standard output; it needs the format txt, and no --output-dir")
	}
	return t.highlight == "always" || t.OutTerminal, nil
}

// line returns a segment as it is shown.
func (t *transcribeCommand) line(s transcript.Segment) string {
	text := s.Line()
	switch {
	case len(s.Marks) > 0:
		text = t.mark.line(s)
	case t.OutTerminal:
		text = show.Text(text) // a terminal obeys control characters
	}
	if t.timed {
		text = s.Times() + " " + text
	}
	if t.OutTerminal && len(s.Marks) == 0 { // whose escape sequences have no width
		text = strings.Join(command.Fold(text, columns()), "\n")
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

// line returns s.Line() with the drafted parts marked. Space in front of a mark
// is left out of it.
func (m marker) line(s transcript.Segment) string {
	line := s.Line()
	from := strings.Index(s.Text, line) // what Line takes away is white space
	to := from + len(line)
	var b strings.Builder
	at, marked := 0, false
	put := func(text string, drafted bool) {
		text, at = text[min(len(text), max(0, from-at)):max(0, min(len(text), to-at))], at+len(text)
		if text == "" {
			return
		}
		words := strings.TrimLeft(text, " ")
		switch {
		case marked && !drafted:
			b.WriteString(m.off)
		case drafted && !marked:
			b.WriteString(text[:len(text)-len(words)])
			text = words
			b.WriteString(m.on)
		}
		marked = drafted
		b.WriteString(show.Text(text))
	}
	for _, p := range s.Drafted(m.tok) {
		put(p.Text, p.Accepted)
	}
	if marked {
		b.WriteString(m.off)
	}
	return b.String()
}
