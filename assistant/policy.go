package assistant

import "math"

// A Policy decides how long drafts are. It changes time, never text. It serves
// one sequence at a time.
type Policy interface {
	// Begin tells that a window begins.
	Begin()

	// Length returns the most tokens to draft in the coming round.
	Length() int

	// More reports whether the nth token of a draft, which the assistant gave
	// log-probability lp, is worth verifying, and whether to go on behind it.
	// Proposers without probabilities do not ask.
	More(n int, lp float32) (keep, more bool)

	// Observe learns from a finished round.
	Observe(r Round)
}

// Constant drafts the same number of tokens in every round.
type Constant int

// Begin needs nothing.
func (Constant) Begin() {}

// Length returns the number.
func (c Constant) Length() int { return int(c) }

// More always goes on.
func (Constant) More(int, float32) (keep, more bool) { return true, true }

// Observe learns nothing.
func (Constant) Observe(Round) {}

// Heuristic drafts two tokens more after a round in which all were accepted and
// one less, but at least one, after any other.
//
// Source: transformers v4, AssistedCandidateGenerator, schedule "heuristic".
type Heuristic struct{ n int }

// NewHeuristic begins with drafts of n tokens, 5 if that is 0.
func NewHeuristic(n int) *Heuristic {
	if n == 0 {
		n = 5
	}
	return &Heuristic{n}
}

// Begin keeps the length.
func (*Heuristic) Begin() {}

// Length returns the present length.
func (h *Heuristic) Length() int { return h.n }

// More always goes on.
func (*Heuristic) More(int, float32) (keep, more bool) { return true, true }

// Observe moves the length. A draft that was cut short by the end of the window
// says nothing.
func (h *Heuristic) Observe(r Round) {
	switch {
	case r.Drafted == 0:
	case r.Accepted == r.Drafted:
		h.n = min(h.n+2, 20)
	default:
		h.n = max(h.n-1, 1)
	}
}

// Confidence drafts until the assistant's own probability of a token falls below
// a threshold.
type Confidence struct {
	Threshold float64 // probability; 0 means 0.4
	Max       int     // tokens; 0 means 20
}

// Begin needs nothing.
func (*Confidence) Begin() {}

// Length returns Max.
func (c *Confidence) Length() int {
	if c.Max == 0 {
		return 20
	}
	return c.Max
}

// More reports whether the last token was sure enough.
func (c *Confidence) More(_ int, lp float32) (keep, more bool) {
	threshold := c.Threshold
	if threshold == 0 {
		threshold = 0.4
	}
	return true, math.Exp(float64(lp)) >= threshold
}

// Observe learns nothing.
func (*Confidence) Observe(Round) {}
