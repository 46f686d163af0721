package transcribe

import (
	"math"

	"verity/tokenizer"
)

// A heard is a token as one of several overlapping windows decoded it.
type heard struct {
	token tokenizer.Token
	in    *chunk
	at    int // among the tokens of its window
}

// A stride is the length of a window, and how much of it its neighbours hear as well at
// its left and its right end, in seconds.
type stride struct{ length, left, right float64 }

// A stretch is text between two timestamps that may come from several windows. A time
// that no window gave is NaN.
type stretch struct {
	tokens     []heard // text only
	start, end float64
}

// A merger joins what overlapping windows say into one text, as the pipeline of
// transformers does. A timestamp in the right overlap of a window, or in the left one of
// the window after, does not end a stretch: its text stays pending until a window has a
// timestamp outside of both, and the texts of these windows are then merged.
//
// Source: transformers 5.23, models/whisper/tokenization_whisper.py, _decode_asr. As
// there, windows do not know of each other, and a window's timestamps do not decrease:
// the rules of decoding see to that.
type merger struct {
	tok     *tokenizer.Tokenizer
	offset  float64   // of the window to come, before its left overlap is taken off
	start   float64   // of the stretch that is open; NaN if not known yet
	pending [][]heard // its text so far, by window
	skip    bool      // the next timestamp is the other half of a pair that was passed over
}

func newMerger(tok *tokenizer.Tokenizer, offset float64) *merger {
	return &merger{tok: tok, offset: offset, start: math.NaN()}
}

// add takes the tokens of the next window and returns the stretches that it ends.
func (m *merger) add(tokens []heard, s stride) (done []stretch) {
	m.offset -= s.left
	first, last := m.limits(tokens, s)
	var text []heard
	for _, h := range tokens {
		switch {
		case h.token < m.tok.EOT:
			text = append(text, h)
		case !m.tok.IsTimestamp(h.token): // a language, or another special token
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

// limits returns, as ids of timestamps, the first one behind the left overlap and the
// one from which on timestamps are passed over: the first inside the right overlap, or
// the last of the window.
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

// close ends the open stretch with text of the window at hand.
func (m *merger) close(text []heard, end float64) stretch {
	done := stretch{mergeAll(append(m.pending, text)), m.start, end}
	m.pending, m.start = nil, math.NaN()
	return done
}

// flush ends the open stretch where no timestamp did.
func (m *merger) flush() (done []stretch) {
	if len(m.pending) > 0 {
		done = append(done, m.close(nil, math.NaN()))
	}
	m.skip = false
	return done
}

// mergeAll merges the texts of windows that follow each other.
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

// mergePair returns what to keep of left and of right so that both make one text. Right
// is laid over the end of left at every offset; where most of the tokens under each other
// are equal, each text is kept up to, or from, the middle of the overlap. Without two
// equal tokens both are kept whole.
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
		// A little more for a longer overlap, so that long perfect ones win.
		score := float64(equal)/float64(i) + float64(i)/10000
		if equal > 1 && score > best {
			keep, from, best = (l0+l1)/2, (r0+r1)/2, score
		}
	}
	return left[:keep], right[from:]
}

// An untimed merger joins windows that were decoded without timestamps. The text of each
// is a stretch, which ends where that of the next begins.
type untimed struct {
	tok    *tokenizer.Tokenizer
	offset float64 // of the window to come, behind its left overlap
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
