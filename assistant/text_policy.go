package assistant

import (
	"math/bits"
	"sync"
)

// MaxTextDraft is the maximum number of tokens of a draft from a text.
const MaxTextDraft = 24

// A TextPolicy decides how much is drafted from texts, for all streams that decode together.
// Drafting from a text is free, but each row of a pass costs time. So a draft grows while the
// tokens that a row is expected to yield are worth more than its time. It measures
//
//   - the time of a pass, by its rows, for a few numbers of streams;
//   - the share of drafted tokens that are right, by the number of right ones before: drafts
//     are short after a mismatch and long in a good run;
//   - the time per token, which is what a right token saves.
type TextPolicy struct {
	// Streams returns how many streams decode together now.
	Streams func() int

	mu                 sync.Mutex
	times              passTimes
	hitRates           [6]frequency // by runOf
	roundsWithoutDraft int          // since the last trial
}

// runOf returns the class of a token by the number of right ones before it.
func runOf(right int) int { return min(bits.Len(uint(right)), 5) }

// firstGuess is the assumed share of right tokens before anything is measured, by runOf.
var firstGuess = [6]float64{0.6, 0.75, 0.85, 0.9, 0.93, 0.95}

// length returns how many tokens to draft after a run of right ones.
func (p *TextPolicy) length(right int) int {
	const trialRounds = 32 // one round in this many drafts a little even if nothing seems to pay
	p.mu.Lock()
	defer p.mu.Unlock()
	best, _ := p.times.best(p.Streams(), MaxTextDraft, func(i int) float64 {
		run := runOf(right + i)
		return p.hitRates[run].rate(firstGuess[run])
	})
	if best == 0 {
		if p.roundsWithoutDraft++; p.roundsWithoutDraft >= trialRounds {
			return 2
		}
	}
	return best
}

// observe adds a round to the measurements and returns the new run of right tokens; right is
// the run before it. It ignores the first sureTokens of the draft, which do not depend on
// the text.
func (p *TextPolicy) observe(r Round, right, sureTokens int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times.observe(p.Streams(), r)
	if r.Drafted, r.Accepted = r.Drafted-sureTokens, r.Accepted-sureTokens; r.Drafted <= 0 || r.Accepted < 0 {
		return right
	}
	p.roundsWithoutDraft = 0
	for i := range r.Accepted {
		p.learn(right+i, true)
	}
	if r.Accepted == r.Drafted {
		return right + r.Accepted
	}
	if r.Kept > r.Accepted+sureTokens { // rejected, not cut off by the end
		p.learn(right+r.Accepted, false)
	}
	return 0
}

// learn records whether a token was right after a run of right ones. It forgets faster than
// Auto does, because another clip may have another text.
func (p *TextPolicy) learn(after int, right bool) {
	const most = 40 // tokens
	s := &p.hitRates[runOf(after)]
	s.forget(most)
	s.add(right)
}
