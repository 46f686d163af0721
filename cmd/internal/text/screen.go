package text

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"verity/internal/show"
	"verity/transcript"
)

// A screen shows confirmed words on a terminal, followed by words that may still change. It
// breaks rows itself, since it cannot redraw text that has wrapped.
type screen struct {
	w     io.Writer
	color bool
	row   string // confirmed words in the last row
}

func (s *screen) show(confirmed []transcript.Word, tentative string, last bool) error {
	width := columns()
	out := "\r\x1b[K"
	for _, w := range confirmed {
		word := show.Line(w.Word)
		if s.row != "" && uniseg.StringWidth(s.row+word) > width {
			out += s.row + "\n"
			s.row = ""
		}
		s.row = strings.TrimLeft(s.row+word, " ")
	}
	out += s.row
	rest := show.Line(tentative)
	if s.row == "" {
		rest = strings.TrimLeft(rest, " ")
	}
	rest = fitting(rest, width-uniseg.StringWidth(s.row))
	switch {
	case last && s.row != "":
		out += "\n"
		s.row = ""
	case last:
	case s.color && rest != "":
		out += "\x1b[2m" + rest + "\x1b[22m"
	default:
		out += rest
	}
	_, err := io.WriteString(s.w, out)
	return err
}

// columns is how many columns of a terminal a row may fill.
func columns() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 1 {
		return w - 1
	}
	return 79
}

// fitting returns the beginning of a text that fits into n columns.
func fitting(text string, columns int) string {
	at, width := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if width += g.Width(); width > columns {
			break
		}
		_, at = g.Positions()
	}
	return text[:at]
}
