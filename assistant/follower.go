package assistant

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Follower is a Proposer that follows what is said in a Text, window after window: a
// tracker finds the letter at which it is, and what comes after that is the draft.
type Follower struct {
	t *Text
	w TextWindow
	excerpt
	tracker tracker
	near    int // byte of a text without times at which the window before began

	// What was said in this attempt.
	said    []Token
	partial []byte // of a character that is not complete yet
	gap     []byte // since the last letter
	stamps  int    // timestamps since the last text
	stamp   Token  // the last one

	draft   []Token
	cycling bool      // the draft is what was said before
	failed  int       // drafts in a row of which nothing was said
	breaks  frequency // of timestamps at the ends of lines that were drafted

	accepted, lost int // see Counts
	found          []int
}

// Follow returns a follower at the start of the text.
func (t *Text) Follow() *Follower { return &Follower{t: t} }

// Begin starts an attempt at a window. What was learnt in others stays.
func (p *Follower) Begin(w TextWindow) {
	near, timed := p.near, p.t.timed
	if near == 0 && !timed && w.Start > 0 && w.Clip > 0 { // no window before: the share of the clip
		near = int(min(1, w.Start/w.Clip) * float64(p.t.size))
	}
	var e excerpt
	if timed {
		e = p.t.during(w)
	} else {
		e = p.t.around(near)
	}
	letters := e.letters(p.tracker.letters[:0], p.ends[:0])
	*p = Follower{t: p.t, w: w, excerpt: e, tracker: p.tracker, near: near, breaks: p.breaks}
	at, _ := slices.BinarySearch(p.ends, p.begin+1)
	p.tracker.reset(letters, max(0, at-1))
	if !timed && w.Before != "" {
		p.recall(w.Before)
		p.near = p.offset + p.ends[p.tracker.at]
	}
}

// Counts returns how many tokens of the text were drafted and said in this attempt, how
// often what was said was lost in the text, and at which tokens it was found again.
func (p *Follower) Counts() (accepted, lost int, found []int) { return p.accepted, p.lost, p.found }

// recalled is by how many letters of the text before a window its beginning is found.
const recalled = 40

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
		p.tracker.said(l)
	}
	p.tracker.trouble, p.gap = 0, append(p.gap, before[end:]...)
}

// Lost reports whether what was said of late is not in the text. After drafts of which
// nothing was said, more of it must be there.
func (p *Follower) Lost() bool {
	return p.text == "" || p.tracker.lost() || p.failed > 2 && int(p.tracker.run[p.tracker.at]) < min(2*p.failed, 24)
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
		case right && !p.cycling && p.t.tok.IsText(t):
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
	p.partial = append(p.partial, p.t.tok.Bytes(t)...)
	for len(p.partial) > 0 && (utf8.FullRune(p.partial) || len(p.partial) >= utf8.UTFMax) {
		r, n := utf8.DecodeRune(p.partial)
		if l := letter(r); l != 0 {
			p.tracker.said(l)
			p.gap = p.gap[:0]
		} else {
			p.gap = append(p.gap, p.partial[:n]...)
		}
		p.partial = p.partial[n:]
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

// Propose drafts what was said before if the text goes round and round, else what comes next
// in it.
func (p *Follower) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	p.draft = p.cycle(p.draft[:0], limit)
	switch p.cycling = len(p.draft) > 0; {
	case p.cycling:
	case p.Lost() || len(p.partial) > 0:
		p.draftBreak(limit)
	default:
		p.draftText(limit)
	}
	return append(dst, p.draft...), nil
}

// draftBreak drafts where the text is lost: the end of a line is followed by the beginning of
// the next at the same time, or near the end of the sound by none.
func (p *Follower) draftBreak(limit int) {
	const near = 1 // s
	if limit <= 0 || len(p.said) == 0 || p.ahead() == 0 {
		return
	}
	next := p.stamp
	if p.t.tok.Seconds(next) > min(p.w.End, p.w.Clip)-p.w.Start-near {
		next = p.t.tok.EOT
	}
	p.draft = append(p.draft, next)
}

// draftText drafts from the cursor on.
func (p *Follower) draftText(limit int) {
	at, change := p.cursor()
	stamps, stamp := p.stamps, p.stamp
	for len(p.draft) < limit {
		k := 0 // the line that goes on at the cursor
		for k < len(p.lines) && p.lines[k].end <= at {
			k++
		}
		before := len(p.draft)
		if s := p.nextKind(k, at, len(p.said)+before, stamps); s == words {
			at = p.spell(limit, at, p.lines[k].end, change)
			change, stamps = nil, 0
		} else if p.draftStamp(s, k, stamp); len(p.draft) > before {
			stamp, stamps = p.draft[before], stamps+1
		}
		if n := len(p.draft); n == before || p.draft[n-1] == p.t.tok.EOT {
			return
		}
	}
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

// A kind is what may come next in a text.
type kind int

const (
	words     kind = iota
	lineBegin      // the timestamp at which a line begins
	lineEnd        // and that at which it ends
	textEnd        // end-of-text
)

// nextKind returns what comes next at a byte, which is in line k or before it, after so many
// tokens, of which the last ones are timestamps.
func (p *Follower) nextKind(k, at, said, stamps int) kind {
	rest := k < len(p.lines)
	switch {
	case !p.w.Timestamps && rest:
		return words
	case !p.w.Timestamps:
		return textEnd
	case said == 0:
		return lineBegin
	case stamps == 0 && k > 0 && at == p.lines[k-1].end && (!rest || p.breaks.rate(0.6) > 0.4):
		return lineEnd
	case stamps == 1 && said > 1 && rest:
		return lineBegin
	case rest:
		return words
	}
	return textEnd
}

// draftStamp drafts a timestamp or end-of-text, if the text tells it. last is the timestamp
// before it.
func (p *Follower) draftStamp(s kind, k int, last Token) {
	tok, at := p.t.tok, 0.0
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
	const apart = 0.02 // s between two timestamps
	t := tok.TimestampBegin + Token(math.Round(at/apart))
	if tok.IsTimestamp(t) && t >= last && !(s == lineEnd && t == last) {
		p.draft = append(p.draft, t)
	}
}

// cursor returns the byte at which the text goes on, and how to change its first letter.
func (p *Follower) cursor() (at int, change func(rune) rune) {
	from, to := p.between(p.tracker.at)
	if from == to && p.tracker.at < len(p.ends)-1 && p.astray() {
		n := p.tracker.at + 1
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
	for _, b := range p.lines {
		if p.stamps > 0 && b.end > at && b.end <= to {
			at = b.end
		}
	}
	if p.t.plain && len(p.said) == min(p.stamps, 1) && (p.w.Before == "" || endsSentence(p.w.Before)) {
		change = unicode.ToUpper
	}
	return at, change
}

// astray reports whether the tracker is in a word whose beginning was not said.
func (p *Follower) astray() bool {
	run := int(p.tracker.run[p.tracker.at])
	for i := p.tracker.at; i > 0; i, run = i-1, run-1 {
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
