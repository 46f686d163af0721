package transcribe

import (
	"math"

	"verity/tokenizer"
)

// A heard is a token as one of several overlapping windows decoded it.
type heard struct {
	token tokenizer.Token
	in    *chunk
	at    int // index among the tokens of its window
}

// A stride is the length of a window and of its overlaps with its left and right
// neighbour, in seconds.
type stride struct{ length, left, right float64 }

// A stretch is the text between two timestamps, which may come from different windows.
// A time that no window gave is NaN.
type stretch struct {
	tokens     []heard // text only
	start, end float64
}

// A merger joins overlapping windows into one text, as the pipeline of transformers
// does. A timestamp in the right overlap of a window, or in the left overlap of the
// next one, does not end a stretch: the text stays pending until a window has a
// timestamp outside both. Then the pending texts are merged.
//
// Source: transformers 5.23, models/whisper/tokenization_whisper.py, _decode_asr. As
// there, windows do not know of each other, and a window's timestamps do not decrease:
// the rules of decoding see to that.
type merger struct {
	tok     *tokenizer.Tokenizer
	offset  float64   // of the next window, before subtracting its left overlap
	start   float64   // of the open stretch; NaN if not known yet
	pending [][]heard // text of the open stretch, by window
	skip    bool      // the next timestamp is the second half of a skipped pair
}

func newMerger(tok *tokenizer.Tokenizer, offset float64) *merger {
	return &merger{tok: tok, offset: offset, start: math.NaN()}
}

// add processes the tokens of the next window and returns the stretches that end in it.
func (m *merger) add(tokens []heard, s stride) (done []stretch) {
	m.offset -= s.left
	first, last := m.limits(tokens, s)
	var text []heard
	for _, h := range tokens {
		switch {
		case h.token < m.tok.EOT:
			text = append(text, h)
		case !m.tok.IsTimestamp(h.token): // a language or another special token
		case float64(h.token) >= last:
			m.skip = true
		case m.skip || len(m.pending) > 0 && float64(h.token) < first:
			m.skip = false
		default:
			time := round2(m.tok.Seconds(h.token) + m.offset)
			if !(m.start == m.start) {
				m.start = time
			} else if time != m.start {
				done = append(done, m.close(text, time))
				text = nil
			}
		}
	}
	m.offset += s.length - s.right
	if len(text) > 0 {
		m.pending = append(m.pending, text)
	} else if len(m.pending) == 0 {
		m.start = math.NaN()
	}
	return done
}

// limits returns two timestamp tokens: the first one after the left overlap, and the
// one from which timestamps are skipped: the first inside the right overlap, or the
// last of the window.
func (m *merger) limits(tokens []heard, s stride) (first, last float64) {
	step := m.tok.Seconds(m.tok.TimestampBegin + 1)
	first, last = s.left/step+float64(m.tok.TimestampBegin), math.Inf(1)
	if s.right == 0 {
		return first, last
	}
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i].token
		if !m.tok.IsTimestamp(t) {
			continue
		}
		if !math.IsInf(last, 1) && m.tok.Seconds(t) < s.length-s.right {
			break
		}
		last = float64(t)
	}
	return first, last
}

// close ends the open stretch with text of the current window.
func (m *merger) close(text []heard, end float64) stretch {
	done := stretch{mergeAll(append(m.pending, text)), m.start, end}
	m.pending, m.start = nil, math.NaN()
	return done
}

// flush ends the open stretch if it has no end timestamp.
func (m *merger) flush() (done []stretch) {
	if len(m.pending) > 0 {
		done = append(done, m.close(nil, math.NaN()))
	}
	m.skip = false
	return done
}

// mergeAll merges the texts of consecutive windows.
//
// Source: transformers 5.23, models/whisper/tokenization_whisper.py,
// _find_longest_common_sequence.
func mergeAll(texts [][]heard) (all []heard) {
	left := texts[0]
	for _, right := range texts[1:] {
		kept, rest := mergePair(left, right)
		all, left = append(all, kept...), rest
	}
	return append(all, left...)
}

// mergePair returns the parts of left and right to keep so that both form one text. It
// tries every overlap of the end of left with the start of right. In the one with the
// largest share of equal tokens, it cuts both texts in the middle of the overlap.
// Without at least two equal tokens, both are kept whole.
func mergePair(left, right []heard) (kept, rest []heard) {
	keep, from, best := len(left), 0, 0.0
	for i := 1; i < len(left)+len(right); i++ {
		l0, l1 := max(0, len(left)-i), min(len(left), len(left)+len(right)-i)
		r0, r1 := max(0, i-len(left)), min(len(right), i)
		equal := 0
		for k := range l1 - l0 {
			if left[l0+k].token == right[r0+k].token {
				equal++
			}
		}
		// A small bonus for length, so that of perfect overlaps the longest wins.
		score := float64(equal)/float64(i) + float64(i)/10000
		if equal > 1 && score > best {
			keep, from, best = (l0+l1)/2, (r0+r1)/2, score
		}
	}
	return left[:keep], right[from:]
}

// An untimed joins windows that were decoded without timestamps. The text of each is a
// stretch, which ends where the next one begins.
type untimed struct {
	tok    *tokenizer.Tokenizer
	offset float64 // of the next window, after its left overlap
	start  float64 // of left
	left   []heard // text that the next window may change
}

func newUntimed(tok *tokenizer.Tokenizer, offset float64) *untimed {
	return &untimed{tok: tok, offset: offset, start: offset}
}

func (u *untimed) add(tokens []heard, s stride) (done []stretch) {
	var text []heard
	for _, h := range tokens {
		if h.token < u.tok.EOT {
			text = append(text, h)
		}
	}
	if len(text) > 0 && len(u.left) > 0 {
		kept, rest := mergePair(u.left, text)
		done, text = append(done, stretch{kept, u.start, u.offset}), rest
	}
	if len(text) > 0 {
		u.left, u.start = text, u.offset
	}
	u.offset += s.length - s.left - s.right
	return done
}

func (u *untimed) flush() (done []stretch) {
	if len(u.left) > 0 {
		done = append(done, stretch{u.left, u.start, u.offset})
	}
	u.left = nil
	return done
}
