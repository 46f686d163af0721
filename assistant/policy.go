package assistant

import (
	"math"
	"time"
)

// A Policy decides draft lengths. It changes time, never text. It serves one sequence at
// a time, window after window.
type Policy interface {
	// Length returns the maximum draft length of the coming round.
	Length() int

	// More reports whether to continue a draft after its nth token, to which the
	// assistant gave log-probability lp. Proposers without probabilities do not call it.
	More(n int, lp float32) bool

	// Observe learns from a finished round.
	Observe(r Round)
}

// A Round is the counts and times of one round.
type Round struct {
	First                   bool // of its window: the pass runs the prompt too
	Drafted, Accepted, Kept int
	Draft, Verify           time.Duration
	Opening                 time.Duration // of Draft, to prepare for the window
}

// oblivious is the Policy that learns nothing and never stops a draft, for others to
// embed.
type oblivious struct{}

// More always returns true.
func (oblivious) More(int, float32) bool { return true }

// Observe is ignored.
func (oblivious) Observe(Round) {}

// Constant returns the policy that drafts n tokens in every round.
func Constant(n int) Policy { return constant{n: n} }

type constant struct {
	oblivious
	n int
}

// Length returns n.
func (c constant) Length() int { return c.n }

// Heuristic drafts two tokens more after a round in which all were accepted, and one
// less, but at least one, after any other.
//
// Source: transformers v4, AssistedCandidateGenerator, schedule "heuristic".
type Heuristic struct {
	oblivious
	n int
}

// NewHeuristic begins with drafts of n tokens, 5 if that is 0.
func NewHeuristic(n int) *Heuristic {
	if n == 0 {
		n = 5
	}
	return &Heuristic{n: n}
}

// Length returns the current length.
func (h *Heuristic) Length() int { return h.n }

// Observe changes the length. A draft that was cut off by the end of the window has no
// effect.
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
	oblivious
	Threshold float64 // probability; 0 means 0.4
	Max       int     // tokens; 0 means 20
}

// Length returns Max.
func (c *Confidence) Length() int {
	if c.Max == 0 {
		return 20
	}
	return c.Max
}

// More reports whether the probability of the last token is high enough.
func (c *Confidence) More(_ int, lp float32) bool {
	threshold := c.Threshold
	if threshold == 0 {
		threshold = 0.4
	}
	return math.Exp(float64(lp)) >= threshold
}
