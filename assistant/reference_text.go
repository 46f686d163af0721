package assistant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
	"verity/transcript"
)

// A ReferenceText is text that probably matches the speech of a clip: an earlier transcript, a
// subtitle file, the output of a smaller model. A TextProposer finds the output so far in it and
// drafts what follows there. Such drafts cost nothing, and the text need not be right. It is
// immutable.
//
// Source: Wang et al. 2025, arXiv:2507.18181 (SpecASR), which continues after a mismatch in
// a rejected draft and calls it draft recycling.
type ReferenceText struct {
	tok     *tokenizer.Tokenizer
	lines   []transcript.Cue
	size    int  // bytes
	timed   bool // all lines have times
	oneCase bool // all its letters have one case, and there are enough of them to tell
}

// NewReferenceText returns the text of lines for a vocabulary; nil if the lines are empty.
func NewReferenceText(tok *tokenizer.Tokenizer, lines []transcript.Cue) *ReferenceText {
	t := &ReferenceText{tok: tok, timed: true}
	upper, lower := false, false
	for _, l := range lines {
		if l.Text = tokenizer.Strip(l.Text); l.Text == "" {
			continue
		}
		l.Text = withLeadingSpace(l.Text)
		t.lines, t.timed, t.size = append(t.lines, l), t.timed && l.HasTimes(), t.size+len(l.Text)
		upper = upper || strings.IndexFunc(l.Text, unicode.IsUpper) >= 0
		lower = lower || strings.IndexFunc(l.Text, unicode.IsLower) >= 0
	}
	if t.size == 0 {
		return nil
	}
	t.oneCase = upper && !lower || lower && !upper && !t.timed // programs that write times also write sentences
	if t.oneCase {
		t.size = 0 // some letters have more bytes in the other case
		for i := range t.lines {
			t.lines[i].Text = strings.ToLower(t.lines[i].Text)
			t.size += len(t.lines[i].Text)
		}
	}
	return t
}

// withLeadingSpace returns the text of a line with a space before it, as tokens spell it,
// unless its script has no spaces.
func withLeadingSpace(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	if tokenizer.IsUnspaced(r) {
		return text
	}
	return " " + text
}

// A TextWindow is the part of a clip that a window covers.
type TextWindow struct {
	Start, End float64 // seconds
	Clip       float64 // length of the clip in seconds
	Before     string  // the end of the text before the window

	// Timestamps is true if the output has timestamps.
	Timestamps bool
}

const (
	excerptReach = 4 << 10 // bytes before and after the window's place, in a text without times
	excerptMax   = 2 * excerptReach
	timeSlack    = 0.5 // seconds by which the times of a text may be wrong
)

// An excerpt is the part of a ReferenceText that a window may contain.
type excerpt struct {
	text       string
	lines      []excerptLine
	begin      int   // byte of text at which the window probably begins
	offset     int   // byte of the ReferenceText at which text begins, if it has no times
	toEnd      bool  // text extends to the end of the ReferenceText
	letterEnds []int // [i]: byte of text after i letters
}

// An excerptLine is a line of an excerpt, or a part of it. Times are relative to the window.
type excerptLine struct {
	end      int // byte of text after the line
	from, to float64
	timed    bool
}

// linesIn returns the lines in a window.
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

// textAround returns the text around a byte, if there are no times.
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

// indexLetters appends the letters of the text to list, and sets letterEnds.
func (e *excerpt) indexLetters(list []rune, ends []int) []rune {
	e.letterEnds = append(ends, 0)
	for i, r := range e.text {
		if l := letter(r); l != 0 {
			list, e.letterEnds = append(list, l), append(e.letterEnds, i+utf8.RuneLen(r))
		}
	}
	return list
}

// marksAfter returns the bytes between the first n letters and the next letter.
func (e *excerpt) marksAfter(n int) (from, to int) {
	from, to = e.letterEnds[n], len(e.text)
	if n+1 < len(e.letterEnds) {
		_, size := utf8.DecodeLastRuneInString(e.text[:e.letterEnds[n+1]])
		to = e.letterEnds[n+1] - size
	}
	return from, to
}
