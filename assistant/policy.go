package assistant

import (
	"cmp"
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

// Constant returns the policy that drafts n tokens in every round.
func Constant(n int) Policy { return constant(n) }

// A constant learns nothing and never stops a draft.
type constant int

func (c constant) Length() int          { return int(c) }
func (constant) More(int, float32) bool { return true }
func (constant) Observe(Round)          {}

// Heuristic returns the policy that drafts two tokens more after a round in which all were
// accepted, and one less, but at least one, after any other. It begins with n, 5 if that
// is 0.
//
// Source: transformers v4, AssistedCandidateGenerator, schedule "heuristic".
func Heuristic(n int) Policy { return &heuristic{constant(cmp.Or(n, 5))} }

type heuristic struct{ constant }

// Observe changes the length. A draft that was cut off by the end of the window has no
// effect.
func (h *heuristic) Observe(r Round) {
	switch {
	case r.Drafted == 0:
	case r.Accepted == r.Drafted:
		h.constant = min(h.constant+2, 20)
	default:
		h.constant = max(h.constant-1, 1)
	}
}

// Confidence returns the policy that drafts until the assistant's own probability of a
// token falls below 0.4, at most n tokens, 20 if that is 0.
func Confidence(n int) Policy { return confidence{constant(cmp.Or(n, 20))} }

type confidence struct{ constant }

func (confidence) More(_ int, lp float32) bool { return math.Exp(float64(lp)) >= minDraftProb }
