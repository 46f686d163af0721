package assistant

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
	"verity/transcript"
)

// A Text is what a clip may say, by anybody: an earlier transcript, a subtitle file, a
// smaller model. It drafts without cost and need not be right: what was said so far is
// looked up in it, and what follows there is the draft. Immutable.
//
// Source: Wang et al. 2025, arXiv:2507.18181 (SpecASR), goes on after a mismatch in a
// draft that was refused, and calls it draft recycling.
type Text struct {
	tok   *tokenizer.Tokenizer
	lines []transcript.Line
	size  int  // bytes
	timed bool // all lines are
	plain bool // its letters are all of one case, and not because it says little
}

// NewText returns the text of lines for a model with a vocabulary; nil if there is none.
func NewText(tok *tokenizer.Tokenizer, lines []transcript.Line) *Text {
	t := &Text{tok: tok, timed: true}
	upper, lower := false, false
	for _, l := range lines {
		if l.Text = tokenizer.Strip(l.Text); l.Text == "" {
			continue
		}
		l.Text = spaced(l.Text)
		t.lines, t.timed, t.size = append(t.lines, l), t.timed && l.Timed(), t.size+len(l.Text)
		upper = upper || strings.IndexFunc(l.Text, unicode.IsUpper) >= 0
		lower = lower || strings.IndexFunc(l.Text, unicode.IsLower) >= 0
	}
	if t.size == 0 {
		return nil
	}
	t.plain = upper && !lower || lower && !upper && !t.timed // programs that tell times write sentences
	if t.plain {
		t.size = 0 // some letters are longer in the other case
		for i := range t.lines {
			t.lines[i].Text = strings.ToLower(t.lines[i].Text)
			t.size += len(t.lines[i].Text)
		}
	}
	return t
}

// spaced returns the text of a line as tokens spell it: with a space before it, unless
// its script has none.
func spaced(text string) string {
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
	reach    = 4 << 10 // bytes of a text without times that a window looks at, either way
	widest   = 2 * reach
	recalled = 40  // letters of the text before a window by which its beginning is found
	early    = 0.5 // s that the times of a text may differ
)

// A Follower is a Proposer that follows what is said in a Text, window after window.
type Follower struct {
	t *Text
	w TextWindow

	near   int // byte of the text where the window before began
	offset int // byte of it where text begins
	text   string
	bits   []bit
	ends   []int // [i]: byte of text after i letters
	all    bool  // text goes on to the end of the Text

	place  place
	draft  []Token
	rest   []byte // of a character that is not complete yet
	gap    []byte // said since the last letter
	stamps int    // timestamps said since the last text
	stamp  Token  // the last one
	said   []Token
	again  bool  // the draft is what was said before
	failed int   // drafts in a row of which nothing was said
	breaks share // of the ends of lines that were drafted, those where a timestamp was said

	accepted, lost int   // of this attempt
	found          []int // at which of its tokens the text was found again
}

// A bit is a line of the text in a window, with times relative to it.
type bit struct {
	end      int // byte after it
	from, to float64
	timed    bool
}

// Follow returns a follower at the start of the text.
func (t *Text) Follow() *Follower { return &Follower{t: t} }

// Counts returns how many tokens of the text were drafted and said in this attempt, how
// often what was said was lost in the text, and at which tokens it was found again.
func (p *Follower) Counts() (accepted, lost int, found []int) { return p.accepted, p.lost, p.found }

// Window begins an attempt at a window.
func (p *Follower) Window(w TextWindow) {
	*p = Follower{ // what was learnt stays, and the memory of places
		t: p.t, w: w, near: p.near, offset: p.offset, breaks: p.breaks, place: p.place, ends: append(p.ends[:0], 0), all: true,
	}
	cut := p.cutUntimed
	if p.t.timed {
		cut = p.cutTimed
	}
	at := cut()
	letters := p.place.letters[:0]
	for i, r := range p.text {
		if l := letter(r); l != 0 {
			letters, p.ends = append(letters, l), append(p.ends, i+utf8.RuneLen(r))
		}
	}
	i, _ := slices.BinarySearch(p.ends, at+1)
	p.place.reset(letters, max(0, i-1))
	if !p.t.timed && w.Before != "" {
		p.recall(w.Before)
		p.near = p.offset + p.ends[p.place.at]
	}
}

// cutTimed takes the lines of the window, and returns the byte where it is likely to begin.
func (p *Follower) cutTimed() (at int) {
	var b strings.Builder
	at = -1
	for _, l := range p.t.lines {
		if l.Start >= p.w.End {
			p.all = false
			continue
		}
		if l.End <= p.w.Start-early || b.Len() > widest {
			continue
		}
		text := l.Text[:min(len(l.Text), widest)]
		switch from := b.Len(); {
		case l.Start < p.w.Start-early: // the window begins in it
			at = from + int((p.w.Start-l.Start)/(l.End-l.Start)*float64(len(text)))
		case at < 0 || at >= from:
			at = from
		}
		b.WriteString(text)
		p.bits = append(p.bits, bit{b.Len(), l.Start - p.w.Start, l.End - p.w.Start, true})
	}
	p.text = b.String()
	return max(0, at)
}

// cutUntimed takes what lies around the place where the window before began; where none
// did, around its share of the clip.
func (p *Follower) cutUntimed() (at int) {
	if p.near == 0 && p.w.Start > 0 && p.w.Clip > 0 {
		p.near = int(min(1, p.w.Start/p.w.Clip) * float64(p.t.size))
	}
	var b strings.Builder
	pos := 0
	for _, l := range p.t.lines {
		from, to := max(0, p.near-reach-pos), min(len(l.Text), p.near+reach-pos)
		if from < to {
			if b.Len() == 0 {
				p.offset = pos + from
			}
			b.WriteString(strings.ToValidUTF8(l.Text[from:to], " "))
			p.all = to == len(l.Text)
		} else if pos > p.near {
			p.all = false
			break
		}
		pos += len(l.Text)
	}
	p.text = b.String()
	p.bits = append(p.bits, bit{end: len(p.text)})
	return p.near - p.offset
}

// recall finds where the text goes on after what was said before the window.
func (p *Follower) recall(before string) {
	var said []rune
	end := 0 // of the last letter
	for i, r := range before {
		if l := letter(r); l != 0 {
			said, end = append(said, l), i+utf8.RuneLen(r)
		}
	}
	for _, l := range said[max(0, len(said)-recalled):] {
		p.place.said(l)
	}
	p.place.trouble, p.gap = 0, append(p.gap, before[end:]...)
}

// Lost reports whether what was said of late is not in the text. After drafts of which
// nothing was said, more of it must be there.
func (p *Follower) Lost() bool {
	return p.text == "" || p.place.lost() || p.failed > 2 && int(p.place.run[p.place.at]) < min(2*p.failed, 24)
}

// Commit follows what was said.
func (p *Follower) Commit(_ context.Context, kept []Token) error {
	lost := p.Lost()
	same := 0
	for same < min(len(p.draft), len(kept)) && kept[same] == p.draft[same] {
		same++
	}
	p.learn(same)
	for _, t := range kept {
		p.say(t)
	}
	switch now := p.Lost(); {
	case now && !lost:
		p.lost++
	case lost && !now:
		p.found = append(p.found, len(p.said))
	}
	p.draft = p.draft[:0]
	return nil
}

// learn notes how much of a draft was said.
func (p *Follower) learn(same int) {
	for i, t := range p.draft[:min(same+1, len(p.draft))] {
		switch right := i < same; {
		case p.t.tok.IsTimestamp(t) && len(p.said)+i > 0:
			p.breaks.add(right)
		case right && !p.again && p.t.tok.IsText(t):
			p.accepted++
		}
	}
	switch {
	case same > 1 || same == 1 && len(p.said) > 0:
		p.failed = 0
	case same < len(p.draft) && p.t.tok.IsText(p.draft[same]):
		p.failed++
	}
}

// say follows a token.
func (p *Follower) say(t Token) {
	p.said = append(p.said, t)
	if p.t.tok.IsTimestamp(t) {
		p.stamps, p.stamp = p.stamps+1, t
		return
	}
	p.stamps = 0
	p.rest = append(p.rest, p.t.tok.Bytes(t)...)
	for len(p.rest) > 0 && (utf8.FullRune(p.rest) || len(p.rest) >= utf8.UTFMax) {
		r, n := utf8.DecodeRune(p.rest)
		if l := letter(r); l != 0 {
			p.place.said(l)
			p.gap = p.gap[:0]
		} else {
			p.gap = append(p.gap, p.rest[:n]...)
		}
		p.rest = p.rest[n:]
	}
}

// ahead is how many tokens come first that are nearly always as drafted, whatever the text
// says: the timestamp that begins a window, and what follows one that ends a line.
func (p *Follower) ahead() int {
	if p.w.Timestamps && (len(p.said) == 0 || p.stamps == 1 && len(p.said) > 1) {
		return 1
	}
	return 0
}

// Propose drafts what follows in the text. Where that is lost, the end of a line is followed
// by the beginning of the next at the same time, or near the end of the sound by none.
func (p *Follower) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	const near = 1 // s
	p.draft = p.cycle(p.draft[:0], limit)
	if p.again = len(p.draft) > 0; p.again {
		return append(dst, p.draft...), nil
	}
	if p.Lost() || len(p.rest) > 0 {
		if limit > 0 && len(p.said) > 0 && p.ahead() > 0 {
			next := p.stamp
			if p.t.tok.Seconds(next) > min(p.w.End, p.w.Clip)-p.w.Start-near {
				next = p.t.tok.EOT
			}
			p.draft = append(p.draft, next)
		}
		return append(dst, p.draft...), nil
	}
	at, change := p.cursor()
	stamps, stamp := p.stamps, p.stamp
	for len(p.draft) < limit {
		k := 0 // the line that goes on at the cursor
		for k < len(p.bits) && p.bits[k].end <= at {
			k++
		}
		before := len(p.draft)
		if s := p.step(k, at, len(p.said)+before, stamps); s == stepWords {
			at = p.spell(limit, at, p.bits[k].end, change)
			change, stamps = nil, 0
		} else if p.mark(s, k, stamp); len(p.draft) > before {
			stamp, stamps = p.draft[before], stamps+1
		}
		if n := len(p.draft); n == before || p.draft[n-1] == p.t.tok.EOT {
			break
		}
	}
	return append(dst, p.draft...), nil
}

// cycle drafts what comes next where the last tokens were said before, in a text that goes
// round and round: up to hundreds of tokens, until the window is full.
func (p *Follower) cycle(dst []Token, limit int) []Token {
	const least, longest = 10, 64 // tokens that are the same, and in a cycle
	n := len(p.said)
	for d := 1; d <= min(longest, n-least); d++ {
		for i := n - 1; i >= d && p.said[i] == p.said[i-d]; i-- {
			if n-i >= max(least, d) {
				for j := range limit {
					dst = append(dst, p.said[n-d+j%d])
				}
				return dst
			}
		}
	}
	return dst
}

// A step is what follows in the text.
type step int

const (
	stepWords step = iota
	stepBegin      // the timestamp where a line begins
	stepEnd        // and where it ends
	stepOver       // end-of-text
)

// step returns what follows at a byte, which is in line k or before it, after so many
// tokens, of which the last ones are timestamps.
func (p *Follower) step(k, at, said, stamps int) step {
	rest := k < len(p.bits)
	switch {
	case !p.w.Timestamps && rest:
		return stepWords
	case !p.w.Timestamps:
		return stepOver
	case said == 0:
		return stepBegin
	case stamps == 0 && k > 0 && at == p.bits[k-1].end && (!rest || p.breaks.rate(0.6) > 0.4):
		return stepEnd
	case stamps == 1 && said > 1 && rest:
		return stepBegin
	case rest:
		return stepWords
	}
	return stepOver
}

// mark drafts a timestamp or end-of-text, if the text tells it. last is the timestamp
// before it.
func (p *Follower) mark(s step, k int, last Token) {
	tok, at := p.t.tok, 0.0
	switch {
	case s == stepOver:
		if p.all {
			p.draft = append(p.draft, tok.EOT)
		}
		return
	case s == stepEnd && !p.bits[k-1].timed:
		return
	case s == stepEnd:
		at = p.bits[k-1].to
	case last == 0: // the first of the window
		if k < len(p.bits) && p.bits[k].from > 0 && p.bits[k].from <= 1 {
			at = p.bits[k].from
		}
	default:
		if at = tok.Seconds(last); k > 0 && p.bits[k].timed {
			at += max(0, p.bits[k].from-p.bits[k-1].to)
		}
	}
	const step = 0.02 // s between two timestamps
	t := tok.TimestampBegin + Token(math.Round(at/step))
	if tok.IsTimestamp(t) && t >= last && !(s == stepEnd && t == last) {
		p.draft = append(p.draft, t)
	}
}

// cursor returns the byte at which the text goes on, and how to change its first letter.
func (p *Follower) cursor() (at int, change func(rune) rune) {
	from, to := p.between(p.place.at)
	if from == to && p.place.at < len(p.ends)-1 && p.astray() {
		n := p.place.at + 1
		for from, to = p.between(n); from == to && n < len(p.ends)-1; from, to = p.between(n) {
			n++
		}
	}
	said, there := string(p.gap), p.text[from:to]
	if at = from + len(said); !strings.HasPrefix(there, said) {
		at = max(from+strings.LastIndexByte(there, ' '), from)
		if !strings.Contains(there, " ") {
			at = to
		}
		switch ours, theirs := ended(said), ended(there); {
		case ours && !theirs:
			change = unicode.ToUpper
		case theirs && !ours:
			change = unicode.ToLower
		}
	}
	for _, b := range p.bits {
		if p.stamps > 0 && b.end > at && b.end <= to {
			at = b.end
		}
	}
	if p.t.plain && len(p.said) == min(p.stamps, 1) && (p.w.Before == "" || endsSentence(p.w.Before)) {
		change = unicode.ToUpper
	}
	return at, change
}

// between returns what lies in the text between letter n and the next.
func (p *Follower) between(n int) (from, to int) {
	from, to = p.ends[n], len(p.text)
	if n+1 < len(p.ends) {
		_, size := utf8.DecodeLastRuneInString(p.text[:p.ends[n+1]])
		to = p.ends[n+1] - size
	}
	return from, to
}

// astray reports whether the place is in a word that does not begin as what was said.
func (p *Follower) astray() bool {
	run := int(p.place.run[p.place.at])
	for i := p.place.at; i > 0; i, run = i-1, run-1 {
		if from, to := p.between(i - 1); from < to {
			return run <= 0
		}
	}
	return run < 0
}

// ended reports whether a sentence ends in marks.
func ended(marks string) bool { return strings.ContainsAny(marks, ".?!。？！") }

// endsSentence reports whether the last character of text ends a sentence.
func endsSentence(text string) bool {
	_, size := utf8.DecodeLastRuneInString(text)
	return ended(text[len(text)-size:])
}

// spell drafts the text from a byte up to another, and returns how far it came.
func (p *Follower) spell(limit, from, to int, change func(rune) rune) int {
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
	tokens := p.t.tok.Encode(s)
	p.draft = append(p.draft, tokens[:min(len(tokens), limit-len(p.draft))]...)
	return to
}
