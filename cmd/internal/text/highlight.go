package text

import (
	"os"
	"strings"

	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// A highlighter shows which part of a text the assistant drafted.
type highlighter struct {
	tok     *tokenizer.Tokenizer
	on, off string
}

// newHighlighter marks text by colour, or by underlining if NO_COLOR is set (no-color.org).
func newHighlighter(tok *tokenizer.Tokenizer) highlighter {
	if os.Getenv("NO_COLOR") != "" {
		return highlighter{tok, "\x1b[4m", "\x1b[24m"}
	}
	return highlighter{tok, "\x1b[32m", "\x1b[39m"}
}

// line returns s.TrimmedText with the drafted parts marked. Marks begin after leading space.
func (m highlighter) line(s transcript.Segment) string {
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
