package assistant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
	"verity/transcript"
)

// A ReferenceText is what a clip may say, by anybody: an earlier transcript, a subtitle file, a
// smaller model. It drafts without cost and need not be right: what was said so far is
// looked up in it, and what follows there is the draft. Immutable.
//
// Source: Wang et al. 2025, arXiv:2507.18181 (SpecASR), goes on after a mismatch in a
// draft that was refused, and calls it draft recycling.
type ReferenceText struct {
	tok     *tokenizer.Tokenizer
	lines   []transcript.Line
	size    int  // bytes
	timed   bool // all lines are
	oneCase bool // its letters are all of one case, and not because it says little
}

// NewReferenceText returns the text of lines for a model with a vocabulary; nil if there is none.
func NewReferenceText(tok *tokenizer.Tokenizer, lines []transcript.Line) *ReferenceText {
	t := &ReferenceText{tok: tok, timed: true}
	upper, lower := false, false
	for _, l := range lines {
		if l.Text = tokenizer.Strip(l.Text); l.Text == "" {
			continue
		}
		l.Text = withLeadingSpace(l.Text)
		t.lines, t.timed, t.size = append(t.lines, l), t.timed && l.Timed(), t.size+len(l.Text)
		upper = upper || strings.IndexFunc(l.Text, unicode.IsUpper) >= 0
		lower = lower || strings.IndexFunc(l.Text, unicode.IsLower) >= 0
	}
	if t.size == 0 {
		return nil
	}
	t.oneCase = upper && !lower || lower && !upper && !t.timed // programs that tell times write sentences
	if t.oneCase {
		t.size = 0 // some letters are longer in the other case
		for i := range t.lines {
			t.lines[i].Text = strings.ToLower(t.lines[i].Text)
			t.size += len(t.lines[i].Text)
		}
	}
	return t
}

// withLeadingSpace returns the text of a line as tokens spell it: with a space before it, unless
// its script has none.
func withLeadingSpace(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
		return text
	}
	return " " + text
}

// A TextWindow says which part of a clip a window hears.
type TextWindow struct {
	Start, End float64 // s
	Clip       float64 // length of the clip, s
	Before     string  // the end of the text before the window

	// Timestamps says that text is decoded with them.
	Timestamps bool
}

const (
	excerptReach = 4 << 10 // bytes of a text without times that a window looks at, either way
	excerptMax   = 2 * excerptReach
	timeSlack    = 0.5 // s that the times of a text may differ
)

// An excerpt is the part of a Text that a window may say.
type excerpt struct {
	text       string
	lines      []excerptLine
	begin      int   // byte of text at which the window is likely to begin
	offset     int   // byte of the Text at which text begins, where there are no times
	toEnd      bool  // text goes on to the end of the Text
	letterEnds []int // [i]: byte of text after i letters
}

// An excerptLine is a line of it, or what it has of one. Times are relative to the window.
type excerptLine struct {
	end      int // byte after it
	from, to float64
	timed    bool
}

// linesIn returns the lines of a window.
func (t *ReferenceText) linesIn(w TextWindow) excerpt {
	e := excerpt{begin: -1, toEnd: true}
	var b strings.Builder
	for _, l := range t.lines {
		if l.Start >= w.End {
			e.toEnd = false
			continue
		}
		if l.End <= w.Start-timeSlack || b.Len() > excerptMax {
			continue
		}
		text := l.Text[:min(len(l.Text), excerptMax)]
		switch from := b.Len(); {
		case l.Start < w.Start-timeSlack: // the window begins in it
			e.begin = from + int((w.Start-l.Start)/(l.End-l.Start)*float64(len(text)))
		case e.begin < 0 || e.begin >= from:
			e.begin = from
		}
		b.WriteString(text)
		e.lines = append(e.lines, excerptLine{b.Len(), l.Start - w.Start, l.End - w.Start, true})
	}
	e.text, e.begin = b.String(), max(0, e.begin)
	return e
}

// textAround returns what lies around a byte of a text without times.
func (t *ReferenceText) textAround(near int) excerpt {
	e := excerpt{toEnd: true}
	var b strings.Builder
	pos := 0
	for _, l := range t.lines {
		from, to := max(0, near-excerptReach-pos), min(len(l.Text), near+excerptReach-pos)
		if from < to {
			if b.Len() == 0 {
				e.offset = pos + from
			}
			b.WriteString(strings.ToValidUTF8(l.Text[from:to], " "))
			e.toEnd = to == len(l.Text)
		} else if pos > near {
			e.toEnd = false
			break
		}
		pos += len(l.Text)
	}
	e.text, e.begin = b.String(), near-e.offset
	e.lines = []excerptLine{{end: len(e.text)}}
	return e
}

// indexLetters appends what counts of the text to list, and notes in ends where each letter ends.
func (e *excerpt) indexLetters(list []rune, ends []int) []rune {
	e.letterEnds = append(ends, 0)
	for i, r := range e.text {
		if l := letter(r); l != 0 {
			list, e.letterEnds = append(list, l), append(e.letterEnds, i+utf8.RuneLen(r))
		}
	}
	return list
}

// gapAfter returns what lies between letter n and the next.
func (e *excerpt) gapAfter(n int) (from, to int) {
	from, to = e.letterEnds[n], len(e.text)
	if n+1 < len(e.letterEnds) {
		_, size := utf8.DecodeLastRuneInString(e.text[:e.letterEnds[n+1]])
		to = e.letterEnds[n+1] - size
	}
	return from, to
}
