package assistant

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
)

// A TextProposer is a Proposer that follows the output in a ReferenceText, window after
// window: an aligner finds the letter that the output has reached, and the text after it is
// the draft.
type TextProposer struct {
	reference *ReferenceText
	window    TextWindow
	excerpt
	aligner aligner
	near    int // byte at which the previous window began, in a text without times

	// The output of this attempt.
	output        []Token
	partial       []byte // an incomplete character
	sinceLetter   []byte // bytes since the last letter
	timestampRun  int    // timestamps since the last text
	lastTimestamp Token  // the last one

	draft        []Token
	repeating    bool      // the draft repeats earlier output
	failedDrafts int       // consecutive drafts that were rejected entirely
	lineBreaks   frequency // how often a drafted timestamp at the end of a line was right

	accepted, lost int // see Counts
	foundAt        []int
}

// NewProposer returns a proposer at the start of the text.
func (t *ReferenceText) NewProposer() *TextProposer { return &TextProposer{reference: t} }

// Begin starts an attempt at a window. It keeps what was measured in earlier ones.
func (p *TextProposer) Begin(w TextWindow) {
	near, timed := p.near, p.reference.timed
	if near == 0 && !timed && w.Start > 0 && w.Clip > 0 { // no window before: assume an even pace
		near = int(min(1, w.Start/w.Clip) * float64(p.reference.size))
	}
	var e excerpt
	if timed {
		e = p.reference.linesIn(w)
	} else {
		e = p.reference.textAround(near)
	}
	letters := e.indexLetters(p.aligner.letters[:0], p.letterEnds[:0])
	*p = TextProposer{
		reference: p.reference, window: w, excerpt: e, aligner: p.aligner, near: near, lineBreaks: p.lineBreaks,
	}
	at, _ := slices.BinarySearch(p.letterEnds, p.begin+1)
	p.aligner.reset(letters, max(0, at-1))
	if !timed && w.Before != "" {
		p.alignBefore(w.Before)
		p.near = p.offset + p.letterEnds[p.aligner.at]
	}
}

// Counts returns how many tokens of the text were accepted in this attempt, how often the
// output was lost in the text, and at which tokens it was found again.
func (p *TextProposer) Counts() (accepted, lost int, found []int) {
	return p.accepted, p.lost, p.foundAt
}

// alignLetters is the number of letters before a window that locate its beginning in the text.
const alignLetters = 40

// alignBefore finds where the text continues after the output before the window.
func (p *TextProposer) alignBefore(before string) {
	var letters []rune
	end := 0 // byte after the last letter
	for i, r := range before {
		if l := letter(r); l != 0 {
			letters, end = append(letters, l), i+utf8.RuneLen(r)
		}
	}
	for _, l := range letters[max(0, len(letters)-alignLetters):] {
		p.aligner.advance(l)
	}
	p.aligner.errorRate, p.sinceLetter = 0, append(p.sinceLetter, before[end:]...)
}

// Lost reports whether recent output does not match the text. After drafts that were rejected
// entirely it asks for a longer match.
func (p *TextProposer) Lost() bool {
	matched := func() int { return int(p.aligner.matched[p.aligner.at]) }
	return p.text == "" || p.aligner.lost() || p.failedDrafts > 2 && matched() < min(2*p.failedDrafts, 24)
}

// Commit follows the output.
func (p *TextProposer) Commit(kept []Token) {
	lost := p.Lost()
	same := 0
	for same < min(len(p.draft), len(kept)) && kept[same] == p.draft[same] {
		same++
	}
	p.recordDraft(same)
	for _, t := range kept {
		p.advance(t)
	}
	switch now := p.Lost(); {
	case now && !lost:
		p.lost++
	case lost && !now:
		p.foundAt = append(p.foundAt, len(p.output))
	}
	p.draft = p.draft[:0]
}

// recordDraft records how much of a draft was accepted.
func (p *TextProposer) recordDraft(same int) {
	for i, t := range p.draft[:min(same+1, len(p.draft))] {
		switch right := i < same; {
		case p.reference.tok.IsTimestamp(t) && len(p.output)+i > 0:
			p.lineBreaks.add(right)
		case right && !p.repeating && p.reference.tok.IsText(t):
			p.accepted++
		}
	}
	switch {
	case same > 1 || same == 1 && len(p.output) > 0:
		p.failedDrafts = 0
	case same < len(p.draft) && p.reference.tok.IsText(p.draft[same]):
		p.failedDrafts++
	}
}

// advance follows one token of output.
func (p *TextProposer) advance(t Token) {
	p.output = append(p.output, t)
	if p.reference.tok.IsTimestamp(t) {
		p.timestampRun, p.lastTimestamp = p.timestampRun+1, t
		return
	}
	p.timestampRun = 0
	p.partial = append(p.partial, p.reference.tok.Bytes(t)...)
	for len(p.partial) > 0 && (utf8.FullRune(p.partial) || len(p.partial) >= utf8.UTFMax) {
		r, n := utf8.DecodeRune(p.partial)
		if l := letter(r); l != 0 {
			p.aligner.advance(l)
			p.sinceLetter = p.sinceLetter[:0]
		} else {
			p.sinceLetter = append(p.sinceLetter, p.partial[:n]...)
		}
		p.partial = p.partial[n:]
	}
}

// sureTokens returns how many of the next tokens are nearly always right whatever the text is:
// the timestamp that begins a window, and the one after a timestamp that ends a line.
func (p *TextProposer) sureTokens() int {
	if p.window.Timestamps && (len(p.output) == 0 || p.timestampRun == 1 && len(p.output) > 1) {
		return 1
	}
	return 0
}

// Propose drafts a repetition if the output is caught in a loop, otherwise the text that comes
// next.
func (p *TextProposer) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	p.draft = p.draftRepetition(p.draft[:0], limit)
	switch p.repeating = len(p.draft) > 0; {
	case p.repeating:
	case p.Lost() || len(p.partial) > 0:
		p.draftBreak(limit)
	default:
		p.draftText(limit)
	}
	return append(dst, p.draft...), nil
}

// draftBreak drafts when the position in the text is lost. After the end of a line comes the
// beginning of the next at the same time, or near the end of the clip end-of-text.
func (p *TextProposer) draftBreak(limit int) {
	const near = 1 // seconds
	if limit <= 0 || len(p.output) == 0 || p.sureTokens() == 0 {
		return
	}
	next := p.lastTimestamp
	if p.reference.tok.Seconds(next) > min(p.window.End, p.window.Clip)-p.window.Start-near {
		next = p.reference.tok.EOT
	}
	p.draft = append(p.draft, next)
}

// draftText drafts text and timestamps, starting at the cursor.
func (p *TextProposer) draftText(limit int) {
	at, change := p.textPosition()
	stamps, stamp := p.timestampRun, p.lastTimestamp
	for len(p.draft) < limit {
		k := 0 // the line at the cursor
		for k < len(p.lines) && p.lines[k].end <= at {
			k++
		}
		before := len(p.draft)
		if s := p.nextKind(k, at, len(p.output)+before, stamps); s == words {
			at = p.draftWords(limit, at, p.lines[k].end, change)
			change, stamps = nil, 0
		} else if p.draftStamp(s, k, stamp); len(p.draft) > before {
			stamp, stamps = p.draft[before], stamps+1
		}
		if n := len(p.draft); n == before || p.draft[n-1] == p.reference.tok.EOT {
			return
		}
	}
}

// draftRepetition drafts the next tokens of a loop, if the last tokens have occurred before. A
// loop can fill the window with hundreds of tokens.
func (p *TextProposer) draftRepetition(dst []Token, limit int) []Token {
	const least, longest = 10, 64 // tokens that must repeat, and of a loop
	n := len(p.output)
	for d := 1; d <= min(longest, n-least); d++ {
		for i := n - 1; i >= d && p.output[i] == p.output[i-d]; i-- {
			if n-i >= max(least, d) {
				for j := range limit {
					dst = append(dst, p.output[n-d+j%d])
				}
				return dst
			}
		}
	}
	return dst
}

// A kind is the type of the next token.
type kind int

const (
	words     kind = iota
	lineBegin      // a timestamp
	lineEnd        // a timestamp
	textEnd        // end-of-text
)

// nextKind returns what comes next at a byte, in line k or before it, after the given number of
// tokens, the last stamps of which are timestamps.
func (p *TextProposer) nextKind(k, at, tokens, stamps int) kind {
	rest := k < len(p.lines)
	switch {
	case !p.window.Timestamps && rest:
		return words
	case !p.window.Timestamps:
		return textEnd
	case tokens == 0:
		return lineBegin
	case stamps == 0 && k > 0 && at == p.lines[k-1].end && (!rest || p.lineBreaks.rate(0.6) > 0.4):
		return lineEnd
	case stamps == 1 && tokens > 1 && rest:
		return lineBegin
	case rest:
		return words
	}
	return textEnd
}

// draftStamp drafts a timestamp or end-of-text, if the text determines it. last is the
// previous timestamp.
func (p *TextProposer) draftStamp(s kind, k int, last Token) {
	tok, at := p.reference.tok, 0.0
	switch {
	case s == textEnd:
		if p.toEnd {
			p.draft = append(p.draft, tok.EOT)
		}
		return
	case s == lineEnd && !p.lines[k-1].timed:
		return
	case s == lineEnd:
		at = p.lines[k-1].to
	case last == 0: // the first of the window
		if k < len(p.lines) && p.lines[k].from > 0 && p.lines[k].from <= 1 {
			at = p.lines[k].from
		}
	default:
		if at = tok.Seconds(last); k > 0 && p.lines[k].timed {
			at += max(0, p.lines[k].from-p.lines[k-1].to)
		}
	}
	const apart = 0.02 // seconds between two timestamps
	t := tok.TimestampBegin + Token(math.Round(at/apart))
	if tok.IsTimestamp(t) && t >= last && !(s == lineEnd && t == last) {
		p.draft = append(p.draft, t)
	}
}

// textPosition returns the byte at which the text continues, and how to change its first letter.
func (p *TextProposer) textPosition() (at int, change func(rune) rune) {
	from, to := p.marksAhead()
	at = from + len(p.sinceLetter)
	if output, reference := string(p.sinceLetter), p.text[from:to]; !strings.HasPrefix(reference, output) {
		at = max(from+strings.LastIndexByte(reference, ' '), from)
		if !strings.Contains(reference, " ") {
			at = to
		}
		switch a, b := ended(output), ended(reference); {
		case a && !b:
			change = unicode.ToUpper
		case b && !a:
			change = unicode.ToLower
		}
	}
	for _, b := range p.lines {
		if p.timestampRun > 0 && b.end > at && b.end <= to {
			at = b.end
		}
	}
	atStart := len(p.output) == min(p.timestampRun, 1)
	if p.reference.oneCase && atStart && (p.window.Before == "" || endsSentence(p.window.Before)) {
		change = unicode.ToUpper
	}
	return at, change
}

// marksAhead returns the bytes between the letter that the output has reached and the next one: if the output lacks the
// beginning of a word, between that word and the next.
func (p *TextProposer) marksAhead() (from, to int) {
	n := p.aligner.at
	if from, to = p.marksAfter(n); from < to || !p.startsMidWord() {
		return from, to
	}
	for from == to && n < len(p.letterEnds)-1 {
		n++
		from, to = p.marksAfter(n)
	}
	return from, to
}

// startsMidWord reports whether the output lacks the beginning of the word at the position.
func (p *TextProposer) startsMidWord() bool {
	run := int(p.aligner.matched[p.aligner.at])
	for i := p.aligner.at; i > 0; i, run = i-1, run-1 {
		if from, to := p.marksAfter(i - 1); from < to {
			return run <= 0
		}
	}
	return run < 0
}

// ended reports whether punctuation ends a sentence.
func ended(marks string) bool { return strings.ContainsFunc(marks, tokenizer.IsSentenceEnd) }

// endsSentence reports whether the last character of text ends a sentence.
func endsSentence(text string) bool {
	_, size := utf8.DecodeLastRuneInString(text)
	return ended(text[len(text)-size:])
}

// draftWords drafts the text between two bytes, and returns the byte it reached.
func (p *TextProposer) draftWords(limit, from, to int, change func(rune) rune) int {
	const bytesPerToken = 8
	if most := from + bytesPerToken*(limit-len(p.draft)+1); most < to {
		if i := strings.IndexByte(p.text[most:to], ' '); i >= 0 {
			to = most + i
		}
	}
	s := p.text[from:to]
	if i := strings.IndexFunc(s, unicode.IsLetter); change != nil && i >= 0 {
		r, n := utf8.DecodeRuneInString(s[i:])
		s = s[:i] + string(change(r)) + s[i+n:]
	}
	tokens := p.reference.tok.Encode(s)
	p.draft = append(p.draft, tokens[:min(len(tokens), limit-len(p.draft))]...)
	return to
}
