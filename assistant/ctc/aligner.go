package ctc

import (
	"math"
	"slices"
)

var never = float32(math.Inf(-1))

// An aligner computes, for each frame, how likely a text ends there: the forward variables of
// connectionist temporal classification, with the best path instead of the sum of all paths. The
// text grows symbol by symbol; the frames do not change.
type aligner struct {
	frames *Frames
	last   int       // the last symbol; 0 before the first
	blank  []float32 // [1+N]: after i frames, the last of them blank
	symbol []float32 // [1+N]: after i frames, the last of them in the last symbol

	// Frames after which the text cannot well have ended are left out: outside low … high, both vectors hold never.
	low, high int
}

// reset begins with an empty text.
func (a *aligner) reset(f *Frames) {
	a.frames, a.last = f, 0
	a.blank, a.symbol = slices.Grow(a.blank[:0], f.N+1)[:f.N+1], slices.Grow(a.symbol[:0], f.N+1)[:f.N+1]
	a.blank[0], a.symbol[0] = 0, never
	a.low, a.high = 0, f.N
	for i := range f.N {
		a.blank[i+1], a.symbol[i+1] = a.blank[i]+f.LogProb[i*f.Symbols], never
	}
}

// add appends a symbol to the text.
func (a *aligner) add(s int) {
	const span = 60 // of log-probability: beyond it, a frame is left out
	f := a.frames
	blank, symbol := a.blank[a.low], a.symbol[a.low] // of the text before, one frame ago
	a.blank[a.low], a.symbol[a.low] = never, never
	best, low, high, computed := never, f.N, a.low, a.high
	for i := a.low; i < f.N; i++ {
		before := blank
		if s != a.last {
			before = max(blank, symbol)
		}
		blank, symbol = a.blank[i+1], a.symbol[i+1]
		row := f.LogProb[i*f.Symbols:]
		a.symbol[i+1] = max(a.symbol[i], before) + row[s]
		a.blank[i+1] = max(a.symbol[i], a.blank[i]) + row[0]
		now := max(a.symbol[i+1], a.blank[i+1])
		best = max(best, now)
		computed = max(computed, i+1)
		if now > best-span {
			low, high = min(low, i+1), i+1
		} else if i >= a.high {
			break // all that follows is less likely
		}
	}
	low = min(low, high) // larger if the text is impossible
	fillNever(a.blank[a.low:low], a.symbol[a.low:low])
	fillNever(a.blank[high+1:computed+1], a.symbol[high+1:computed+1])
	a.last, a.low, a.high = s, low, high
}

func fillNever(vectors ...[]float32) {
	for _, v := range vectors {
		for i := range v {
			v[i] = never
		}
	}
}

// start returns the first frame after which the text may well have ended.
func (a *aligner) start() int {
	const span = 12 // of log-probability
	best := never
	for i := a.low; i <= a.high; i++ {
		best = max(best, a.symbol[i], a.blank[i])
	}
	for i := a.low; i <= a.high; i++ {
		if max(a.symbol[i], a.blank[i]) > best-span {
			return i
		}
	}
	return 0
}
