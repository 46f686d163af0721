package text

import (
	"fmt"
	"io"
	"os"
	"strings"

	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// A printer prints the text of a file as it comes: in paragraphs, or if it has times or marks, or with -f lines,
// a line for each segment.
type printer struct {
	run        *fileRun
	paragraphs transcript.Paragraphs
	speaker    string // of the last line
	begun      bool   // something is printed
	open       string // start of a line that is printed later: that of a terminal may not be full
}

func (t *fileRun) newPrinter() *printer { return &printer{run: t} }

// add prints a segment.
func (p *printer) add(s transcript.Segment) error {
	t := p.run
	if t.timed || t.writing.Lines || len(s.Origins) > 0 {
		segments := []transcript.Segment{s}
		if t.timed && len(s.Origins) == 0 {
			segments = transcript.Sentences(segments)
		}
		for _, s := range segments {
			if err := p.line(s); err != nil {
				return err
			}
		}
		return nil
	}
	for _, part := range p.paragraphs.Add(s) {
		if part.Speaker != "" {
			part.Text = part.Speaker + ": " + part.Text
		}
		if err := p.part(part.Text, part.Begins); err != nil {
			return err
		}
	}
	return nil
}

// line prints a segment as one line.
func (p *printer) line(s transcript.Segment) error {
	t := p.run
	switch {
	case len(s.Origins) > 0:
		s.Text = t.highlighter.line(s)
	case t.OutTerminal:
		s.Text = show.Text(s.Text) // without control characters, which a terminal would obey
	}
	text := s.Line(p.speaker, t.timed)
	if text == "" {
		return nil
	}
	p.speaker = s.Speaker
	if t.OutTerminal && len(s.Origins) == 0 { // Fold would count escape sequences as text
		text = strings.Join(show.Fold(text, columns()), "\n")
	}
	_, err := fmt.Fprintln(t.Out, text)
	return err
}

// part prints a part of a paragraph. On a terminal, which may show a bar below the text, only full lines are
// printed; elsewhere whole paragraphs, so that warnings are lines of their own, but live text as it comes.
func (p *printer) part(text string, begins bool) error {
	t := p.run
	if begins {
		if err := p.end(); err != nil {
			return err
		}
	}
	p.begun = true
	if !t.OutTerminal {
		_, err := io.WriteString(t.Out, text)
		return err
	}
	text = show.Text(text)
	lines := show.Fold(p.open+text, columns())
	for _, line := range lines[:len(lines)-1] {
		if _, err := fmt.Fprintln(t.Out, line); err != nil {
			return err
		}
	}
	p.open = lines[len(lines)-1]
	return nil
}

// end ends the last line.
func (p *printer) end() error {
	if !p.begun {
		return nil
	}
	_, err := fmt.Fprintln(p.run.Out, p.open)
	p.begun, p.open = false, ""
	return err
}

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
