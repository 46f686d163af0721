package assistant

import (
	"math"
	"sync"
	"time"
)

// A CalibratedPolicy decides draft lengths for a proposer whose drafts cost next to nothing and that
// states how probable each of its tokens is. It serves all streams that decode together. A draft
// is cut where one more row in the verifying pass costs more time than the tokens it may save. The
// policy measures
//
//   - the time of a pass, by its rows, for a few numbers of streams;
//   - how often tokens of each stated probability are right, whatever the proposer claims;
//   - the time per token, which is what a right token saves, and the time to make a draft;
//   - the time to prepare a window for drafting, and what drafts save in a window.
type CalibratedPolicy struct {
	// Streams returns how many streams decode together now.
	Streams func() int

	mu      sync.Mutex
	times   passTimes
	rates   [calibrationClasses]frequency // of right tokens, by classOf
	draft   mean                          // seconds to make a draft
	gain    mean                          // seconds that a draft was expected to save
	opening float64                       // seconds to prepare a window: about the least of the last ones
	saved   mean                          // seconds that drafts saved in a window
	rounds  int                           // since the last without a draft
	empty   int                           // drafts cut to nothing since one was worth verifying
	longest float64                       // draft that paid lately, in tokens: at most two more are drafted
	forced  bool                          // see ForceDraft
	idle    int                           // rounds without a draft since the last one
	opens   int                           // windows prepared
	skipped int                           // windows since the last one that was prepared
}

const (
	calibrationClasses = 12
	plainEvery         = 64 // rounds: at least one in this many does not draft
	maxCalibratedDraft = 12 // tokens: longer drafts are hardly ever right, and take time to make
)

// classOf returns the class of a stated log-probability: classes divide its log-odds evenly.
func classOf(logProb float32) int {
	p := math.Exp(float64(min(logProb, -1e-4)))
	odds := math.Log(p / (1 - p))
	return max(0, min(calibrationClasses-1, int(math.Floor(odds+4.5))))
}

// classGuess is the share of right tokens in a class, before any are measured.
func classGuess(class int) float64 { return 1 / (1 + math.Exp(4-float64(class))) }

// ForceDraft makes the next rounds draft at any cost until something has been drafted. It is
// for comparisons, which need at least one draft.
func (p *CalibratedPolicy) ForceDraft() {
	p.mu.Lock()
	p.forced = true
	p.mu.Unlock()
}

// Policy returns the policy of one sequence at a time.
func (p *CalibratedPolicy) Policy() Policy { return &calibrated{p: p} }

// A calibrated is the Policy of one sequence.
type calibrated struct {
	p        *CalibratedPolicy
	opened   bool    // the proposer is prepared for the window
	skip     bool    // it does not pay to prepare it
	measured bool    // what drafts save in this window is known
	saved    float64 // seconds in this window, so far
	opens    int     // CalibratedPolicy.opens after the last round
	drafted  bool    // a draft was made in this round, perhaps cut to nothing
	classes  []int   // of the draft of this round
}

// Begin decides whether the window is worth preparing for.
func (c *calibrated) Begin(opened bool) {
	const (
		trialWindows = 8 // one window in this many is prepared even if that does not seem to pay
		few          = 8 // windows that say nothing yet
	)
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.opened && c.measured {
		p.saved.add(c.saved, 8)
	}
	c.opened, c.measured, c.skip, c.saved = opened, false, false, 0
	if !opened && p.saved.n >= few && p.saved.v < p.opening {
		p.skipped++
		c.skip = p.skipped < trialWindows
	}
	if !c.skip {
		p.skipped = 0
	}
}

// Length returns the maximum length of a draft, or 0 if drafts have not paid lately.
func (c *calibrated) Length() int {
	const trialRounds = 12 // one round in this many drafts if drafting does not pay
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	c.classes, c.drafted = c.classes[:0], false
	if p.forced {
		return maxCalibratedDraft
	}
	if c.skip {
		return 0
	}
	if p.gain.n >= 8 && p.gain.v < p.draft.v {
		if p.idle++; p.idle < trialRounds {
			return 0
		}
	}
	p.idle = 0
	// Or else the time of a plain pass would be a guess.
	p.rounds++
	if c.opened && (p.rounds > plainEvery || p.rounds > plainEvery/8 && !p.times.known(p.Streams())) {
		p.rounds = 0 // other streams ask before this round ends
		return 0
	}
	if p.gain.n < 8 {
		return maxCalibratedDraft
	}
	return min(int(p.longest)+2, maxCalibratedDraft)
}

// More continues every draft: Cut decides.
func (c *calibrated) More(int, float32) bool { return true }

// Cut returns the length with the largest expected gain.
func (c *calibrated) Cut(logProbs []float32) int {
	const (
		memory      = 32
		trialDrafts = 24 // one draft in this many is verified even if none seems to pay
	)
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	c.classes, c.drafted = c.classes[:0], len(logProbs) > 0
	for _, lp := range logProbs {
		c.classes = append(c.classes, classOf(lp))
	}
	n, gain := p.times.best(p.Streams(), min(len(logProbs), maxCalibratedDraft), func(i int) float64 {
		class := c.classes[i]
		return p.rates[class].rate(classGuess(class))
	})
	p.longest = max(float64(n), p.longest-0.25)
	if p.times.known(p.Streams()) {
		p.gain.add(gain, memory)
	}
	if p.empty++; n > 0 {
		p.empty = 0
	} else if p.empty >= trialDrafts || p.forced {
		n = min(2, len(logProbs))
		p.empty = 0
	}
	c.classes = c.classes[:n]
	return n
}

// Observe adds a finished round to the measurements.
func (c *calibrated) Observe(r Round) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Opening > 0 {
		c.opened = true
		p.observeOpening(r.Opening.Seconds())
		r.Draft = max(0, r.Draft-r.Opening)
	}
	// A draft takes longer while other programs run. Its time, at least 0.1 ms, counts as at most a multiple of the mean.
	most := roundTimeCap * max(p.draft.v, 1e-4)
	r.Draft = min(r.Draft, time.Duration(most*float64(time.Second)))
	c.observePass(r)
	c.observeTokens(r)
}

// observeOpening adds the preparation of a window. The first takes several times as long, and so does any while other
// programs run.
func (p *CalibratedPolicy) observeOpening(seconds float64) {
	if p.opens == 0 || seconds < 1.1*p.opening {
		p.opening = seconds
	} else {
		p.opening *= 1.1
	}
	p.opens++
}

// observePass adds the times of a round, and what its draft saved.
func (c *calibrated) observePass(r Round) {
	p := c.p
	if c.opens == p.opens {
		p.times.observe(p.Streams(), r)
	} else { // the round waited while a window was prepared
		c.opens = p.opens
	}
	p.forced = p.forced && r.Drafted == 0
	if r.Drafted == 0 && !r.First {
		p.rounds = 0
	}
	if c.drafted {
		p.draft.add(r.Draft.Seconds(), 32)
	}
	if p.times.known(p.Streams()) {
		c.measured = true
		if c.drafted {
			c.saved += p.times.saved(p.Streams(), r)
		}
	}
}

// observeTokens adds which tokens of the draft were right.
func (c *calibrated) observeTokens(r Round) {
	const memory = 200 // tokens of a class
	for i := range min(r.Drafted, len(c.classes)) {
		right := i < r.Accepted
		if !right && r.Kept <= r.Accepted { // cut off by the end, not rejected
			break
		}
		s := &c.p.rates[c.classes[i]]
		s.forget(memory)
		s.n++
		if !right {
			break
		}
		s.yes++
	}
}
