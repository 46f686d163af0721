package assistant

import (
	"math"
	"sync"
)

// A CalibratedPolicy decides draft lengths for a proposer whose drafts cost next to nothing and that
// states how probable each of its tokens is. It serves all streams that decode together. A draft
// is cut where one more row in the verifying pass costs more time than the tokens it may save. The policy measures
//
//   - the time of a pass, by its rows, for a few numbers of streams;
//   - how often tokens of each stated probability are right, whatever the proposer claims;
//   - the time per token, which is what a right token saves, and the time to make a draft.
type CalibratedPolicy struct {
	// Streams returns how many streams decode together now.
	Streams func() int

	mu    sync.Mutex
	times passTimes
	rates [calibrationClasses]frequency // of right tokens, by classOf
	draft mean                          // seconds to make a draft
	gain  mean                          // seconds that a draft was expected to save
	rest  int                           // rounds without a draft since the last one
}

// A DraftCutter is a Policy that decides on a whole draft at once.
type DraftCutter interface {
	// Cut returns how many tokens of a draft to verify, from the log-probability of each to be
	// right if all before it are.
	Cut(logProbs []float32) int
}

const calibrationClasses = 12

// classOf returns the class of a stated log-probability: classes divide its log-odds evenly.
func classOf(logProb float32) int {
	p := math.Exp(float64(min(logProb, -1e-4)))
	odds := math.Log(p / (1 - p))
	return max(0, min(calibrationClasses-1, int(math.Floor(odds+4.5))))
}

// classGuess is the share of right tokens in a class, before any are measured.
func classGuess(class int) float64 { return 1 / (1 + math.Exp(4-float64(class))) }

// Policy returns the policy of one sequence at a time.
func (p *CalibratedPolicy) Policy() Policy { return &calibrated{p: p} }

// A calibrated is the Policy of one sequence.
type calibrated struct {
	p       *CalibratedPolicy
	classes []int // of the draft of this round
}

// Length returns the maximum length of a draft, or 0 if drafts have not paid lately.
func (c *calibrated) Length() int {
	const trial = 12 // one round in this many drafts if drafting does not pay
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	c.classes = c.classes[:0]
	if p.gain.n >= 8 && p.gain.v < p.draft.v {
		if p.rest++; p.rest < trial {
			return 0
		}
	}
	p.rest = 0
	return MaxTextDraft
}

// More continues every draft: Cut decides.
func (c *calibrated) More(int, float32) bool { return true }

// Cut returns the length with the largest expected gain.
func (c *calibrated) Cut(logProbs []float32) int {
	const memory = 32
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	c.classes = c.classes[:0]
	for _, lp := range logProbs {
		c.classes = append(c.classes, classOf(lp))
	}
	n, gain := p.times.best(p.Streams(), min(len(logProbs), MaxTextDraft), func(i int) float64 {
		class := c.classes[i]
		return p.rates[class].rate(classGuess(class))
	})
	p.gain.add(gain, memory)
	c.classes = c.classes[:n]
	return n
}

// Observe adds a finished round to the measurements.
func (c *calibrated) Observe(r Round) {
	const memory = 200 // tokens of a class
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Draft -= r.Opening
	p.times.observe(p.Streams(), r)
	if r.Drafted > 0 {
		p.draft.add(r.Draft.Seconds(), 32)
	}
	for i := range min(r.Drafted, len(c.classes)) {
		right := i < r.Accepted
		if !right && r.Kept <= r.Accepted { // cut off by the end, not rejected
			break
		}
		s := &p.rates[c.classes[i]]
		s.forget(memory)
		s.add(right)
		if !right {
			break
		}
	}
}
