package assistant

import (
	"cmp"
	"math"
	"time"
)

// A Policy decides draft lengths. It affects time, never text. It serves one sequence at a
// time, window after window. Calls come in this order: at each attempt at a window the drafter calls
// Begin, if the policy is a DraftCutter; then, in each round, Generate calls Length; the drafter
// calls More after each token, or Cut once for the whole draft; and Generate calls Observe.
type Policy interface {
	// Length returns the maximum draft length of the coming round.
	Length() int

	// More reports whether to continue a draft after its nth token, to which the
	// assistant gave log-probability lp. Proposers without probabilities do not call it.
	More(n int, lp float32) bool

	// Observe reports a finished round to the policy.
	Observe(r Round)
}

// A DraftCutter is a Policy that decides on a whole draft at once.
type DraftCutter interface {
	// Begin starts an attempt at a window; opened tells whether the proposer is prepared for it.
	Begin(opened bool)

	// Cut returns how many tokens of a draft to verify, from the log-probability of each to be
	// right if all before it are.
	Cut(logProbs []float32) int
}

// A Round has the counts and times of one round.
type Round struct {
	First                   bool // first round of its window: the pass also runs the prompt
	Drafted, Accepted, Kept int
	Draft, Verify           time.Duration
	Opening                 time.Duration // the part of Draft that prepared for the window
}

// Constant returns the policy that drafts n tokens in every round.
func Constant(n int) Policy { return constant(n) }

// A constant ignores rounds and never stops a draft.
type constant int

func (c constant) Length() int          { return int(c) }
func (constant) More(int, float32) bool { return true }
func (constant) Observe(Round)          {}

// Heuristic returns the policy that drafts two tokens more after a round in which all were
// accepted, and one less, but at least one, after any other. It starts with n tokens; 0
// means 5.
//
// Source: transformers v4, AssistedCandidateGenerator, schedule "heuristic".
func Heuristic(n int) Policy { return &heuristic{constant(cmp.Or(n, 5))} }

type heuristic struct{ constant }

// Observe changes the length. A draft that the end of the window cut off has no effect.
func (h *heuristic) Observe(r Round) {
	switch {
	case r.Drafted == 0:
	case r.Accepted == r.Drafted:
		h.constant = min(h.constant+2, 20)
	default:
		h.constant = max(h.constant-1, 1)
	}
}

// Confidence returns the policy that drafts until the assistant's own probability of a token
// falls below 0.4, at most n tokens; 0 means 20.
func Confidence(n int) Policy { return confidence{constant(cmp.Or(n, 20))} }

type confidence struct{ constant }

func (confidence) More(_ int, lp float32) bool { return math.Exp(float64(lp)) >= minDraftProb }
