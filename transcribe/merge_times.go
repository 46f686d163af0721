package transcribe

import (
	"math"

	"verity/tokenizer"
)

// A byTime joins what overlapping windows say by when they say it. Where both windows
// have the same text at about the same time, the text changes over from one to the other
// inside of it, as near as possible to the middle of the overlap. Where they have not, it
// changes over at the middle itself. So no text stands twice, however little two windows
// have in common.
type byTime struct {
	tok    *tokenizer.Tokenizer
	offset float64 // of the window to come, behind its left overlap
	left   []placed
	right  float64 // how much of the window of left the next one hears, in seconds
}

// A placed token is one with its time in the clip, and the segment it belongs to.
type placed struct {
	heard
	at   float64 // its middle
	part *part
}

// A part is a segment as one window has it, in seconds of the clip.
type part struct{ start, end float64 }

func newByTime(tok *tokenizer.Tokenizer, offset float64) *byTime {
	return &byTime{tok: tok, offset: offset}
}

// add takes the tokens of the next window and returns the stretches that it ends.
func (m *byTime) add(tokens []heard, s stride) (done []stretch) {
	right := m.place(tokens, m.offset-s.left, s.length)
	if len(m.left) > 0 && len(right) > 0 {
		left, rest := m.join(m.left, right, m.offset-s.left, m.offset+m.right)
		done, right = m.stretches(left, rest)
	} else if len(m.left) > 0 {
		done = m.flush()
	}
	m.left, m.right = right, s.right
	m.offset += s.length - s.left - s.right
	return done
}

func (m *byTime) flush() (done []stretch) {
	done, _ = m.stretches(m.left, nil)
	m.left = nil
	return done
}

// place finds the time of every token of text: by its word if words were timed, else by
// its share of the segment's text. A segment without an end ends with the window.
func (m *byTime) place(tokens []heard, offset, length float64) (list []placed) {
	p, from := &part{start: offset, end: offset + length}, 0
	closePart := func(end float64) {
		p.end = max(end, p.start)
		m.spread(list[from:])
		p, from = &part{start: p.end, end: offset + length}, len(list)
	}
	for _, h := range tokens {
		switch {
		case h.token < m.tok.EOT:
			list = append(list, placed{h, 0, p})
		case !m.tok.IsTimestamp(h.token): // a language, or another special token
		case len(list) > from:
			closePart(round2(m.tok.Seconds(h.token) + offset))
		default:
			p.start = round2(m.tok.Seconds(h.token) + offset)
		}
	}
	closePart(offset + length)
	for i, h := range list {
		if c := h.in; c != nil && len(c.times) > 0 {
			list[i].at = offset + (c.times[h.heard.at].start+c.times[h.heard.at].end)/2
		}
	}
	return list
}

// spread gives the tokens of one segment times by their bytes.
func (m *byTime) spread(list []placed) {
	all, before := 0, 0
	for _, p := range list {
		all += len(m.tok.Bytes(p.token))
	}
	for i := range list {
		n, p := len(m.tok.Bytes(list[i].token)), list[i].part
		list[i].at = p.start + (p.end-p.start)*(float64(before)+float64(n)/2)/float64(max(all, 1))
		before += n
	}
}

// sameTime is how far apart two windows may place one token, in seconds. Times by bytes
// are as wrong as speech is uneven.
const sameTime = 2

// join returns what to keep of left and of right, which both hear the time from begin to
// end.
func (m *byTime) join(left, right []placed, begin, end float64) (kept, rest []placed) {
	middle := (begin + end) / 2
	if i, n, run := commonRun(left, right, begin-sameTime, end+sameTime); run > 1 {
		best := 0
		for k := range run {
			if math.Abs(left[i+k].at-middle) < math.Abs(left[i+best].at-middle) {
				best = k
			}
		}
		return left[:i+best+1], right[n+best+1:]
	}
	cut := middle
	switch last, first := left[len(left)-1].part.end, right[0].part.start; {
	case last < middle:
		cut = last // what the left window does not have, the right one may
	case first > middle:
		cut = first
	}
	return left[:m.wordFrom(left, cut)], right[m.wordFrom(right, cut):]
}

// commonRun returns where left and right have a run of equal tokens at about the same
// time, from begin to end: the one that is longest, where a token counts for less the
// further apart its times are.
func commonRun(left, right []placed, begin, end float64) (l, r, length int) {
	best := 0.0
	for i := range left {
		for k := range right {
			n, score := 0, 0.0
			for i+n < len(left) && k+n < len(right) {
				a, b := left[i+n], right[k+n]
				d := math.Abs(a.at - b.at)
				if a.token != b.token || !(d <= sameTime) || a.at < begin || b.at > end {
					break
				}
				n, score = n+1, score+1-d/sameTime
			}
			if score > best {
				l, r, length, best = i, k, n, score
			}
		}
	}
	return l, r, length
}

// wordFrom returns the first token from a time on that begins a word, if one is near.
func (m *byTime) wordFrom(list []placed, from float64) int {
	at := 0
	for at < len(list) && list[at].at < from {
		at++
	}
	const most = 5 // tokens of a word; languages without spaces have no such token
	for i := at; i < min(at+most, len(list)); i++ {
		if b := m.tok.Bytes(list[i].token); len(b) > 0 && b[0] == ' ' {
			return i
		}
	}
	if at > 0 && len(list)-at < most {
		return len(list)
	}
	return at
}

// stretches makes stretches of what is kept of a window. If it ends within a segment and
// the rest, of the next window, begins within one, both are one segment of rest.
func (m *byTime) stretches(kept, rest []placed) (done []stretch, left []placed) {
	last := len(kept)
	if len(rest) > 0 && last > 0 && kept[last-1].part.end > rest[0].part.start {
		p := kept[last-1].part
		for last > 0 && kept[last-1].part == p {
			last--
		}
		q := rest[0].part
		q.start = p.start
		head := append([]placed(nil), kept[last:]...)
		for i := range head {
			head[i].part = q
		}
		rest = append(head, rest...)
	}
	for i := 0; i < last; {
		s := stretch{start: kept[i].part.start, end: kept[i].part.end}
		for p := kept[i].part; i < last && kept[i].part == p; i++ {
			s.tokens = append(s.tokens, kept[i].heard)
		}
		done = append(done, s)
	}
	return done, rest
}
