package transcribe

import (
	"math"

	"verity/tokenizer"
)

// A byTime joins overlapping windows by the times of their tokens. Where both have the
// same text at about the same time, the text switches from one window to the other
// inside that text, as close as possible to the middle of the overlap; otherwise it
// switches at the middle itself. So no text is repeated, however little the two windows
// have in common.
type byTime struct {
	tok    *tokenizer.Tokenizer
	offset float64 // of the next window, after its left overlap
	left   []placed
	right  float64 // length of the overlap of left with the next window, in seconds
}

// A placed is a token with its time in the clip and its segment.
type placed struct {
	heard
	at   float64 // middle of the token
	part *part
}

// A part is a segment as decoded in one window, in seconds of the clip.
type part struct{ start, end float64 }

func newByTime(tok *tokenizer.Tokenizer, offset float64) *byTime {
	return &byTime{tok: tok, offset: offset}
}

// add processes the tokens of the next window and returns the stretches that end in it.
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

// place computes the time of every text token: from its word if words were timed, else
// from its share of the segment's bytes. A segment without an end ends with the window.
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
		case !m.tok.IsTimestamp(h.token): // a language or another special token
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

// spread distributes the time of one segment over its tokens in proportion to their
// bytes.
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

// sameTime is how far apart two windows may place the same token, in seconds. Times by
// bytes are inaccurate because the speed of speech varies.
const sameTime = 2

// join returns the parts of left and right to keep. Both cover the time from begin to
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
		cut = last // left has nothing here; right may
	case first > middle:
		cut = first
	}
	return left[:m.wordFrom(left, cut)], right[m.wordFrom(right, cut):]
}

// commonRun returns the position and length of the best run of equal tokens in left and
// right, at about the same time, between begin and end. A token counts less the further
// apart its two times are.
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

// wordFrom returns the first token from a time on that starts a word, if one is near.
func (m *byTime) wordFrom(list []placed, from float64) int {
	at := 0
	for at < len(list) && list[at].at < from {
		at++
	}
	const most = 5 // tokens per word; languages without spaces have no such token
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

// stretches converts the kept tokens of a window to stretches. If they end within a
// segment and the rest, of the next window, begins within one, both become one segment
// of rest.
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
