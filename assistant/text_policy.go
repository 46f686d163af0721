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
	passes             [groups][MaxTextDraft + 2]mean // [rows]: seconds
	hitRates           [6]frequency                   // by runOf
	roundSeconds       mean
	roundTokens        mean
	roundsWithoutDraft int // since the last trial
}

// runOf returns the class of a token by the number of right ones before it.
func runOf(right int) int { return min(bits.Len(uint(right)), 5) }

// firstGuess is the assumed share of right tokens before anything is measured, by runOf.
var firstGuess = [6]float64{0.6, 0.75, 0.85, 0.9, 0.93, 0.95}

// passTimes returns the times of passes for the present number of streams.
func (p *TextPolicy) passTimes() *[MaxTextDraft + 2]mean {
	return &p.passes[groupOf(p.Streams())]
}

// passSeconds returns the time of a pass with the given number of rows. If it was not
// measured, it interpolates, or guesses a low time so that it is tried.
func passSeconds(known *[MaxTextDraft + 2]mean, rows int) float64 {
	const guess = 0.03 // of a pass, per row
	low, high := rows, rows
	for low > 0 && known[low].n == 0 {
		low--
	}
	for high < len(known)-1 && known[high].n == 0 {
		high++
	}
	below, above := known[low], known[high]
	switch {
	case below.n > 0 && above.n > 0 && high > low:
		return below.v + (above.v-below.v)*float64(rows-low)/float64(high-low)
	case below.n > 0:
		return below.v * (1 + guess*float64(rows-low))
	case above.n > 0:
		return above.v / (1 + 4*guess*float64(high-rows)) // high, so that fewer rows are tried
	}
	return 1 + guess*float64(rows)
}

// length returns how many tokens to draft after a run of right ones.
func (p *TextPolicy) length(right int) int {
	const trial = 32 // one round in this many drafts a little even if nothing seems to pay
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.passTimes()
	one := passSeconds(known, 1)
	token := one
	if p.roundTokens.v > 0 {
		token = p.roundSeconds.v / p.roundTokens.v
	}
	best, most := 0, 0.0
	reach, sum := 1.0, 0.0
	for n := 1; n <= MaxTextDraft; n++ {
		i := runOf(right + n - 1)
		reach *= p.hitRates[i].rate(firstGuess[i])
		sum += reach
		if gain := sum*token - (passSeconds(known, n+1) - one); gain > most {
			best, most = n, gain
		}
	}
	if best == 0 {
		if p.roundsWithoutDraft++; p.roundsWithoutDraft >= trial {
			return 2
		}
	}
	return best
}

// observe adds a round to the measurements and returns the new run of right tokens; right is
// the run before it. It ignores the first ahead tokens of the draft, which do not depend on
// the text.
func (p *TextPolicy) observe(r Round, right, ahead int) int {
	const memory = 64
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, rows := p.passTimes(), r.Drafted+1; !r.First && rows < len(known) {
		seconds := r.Verify.Seconds()
		if known[rows].n > 0 {
			seconds = min(seconds, roundTimeCap*known[rows].v)
		}
		known[rows].add(seconds, memory)
		p.roundSeconds.add((r.Draft + r.Verify).Seconds(), memory)
		p.roundTokens.add(float64(r.Kept), memory)
	}
	if r.Drafted, r.Accepted = r.Drafted-ahead, r.Accepted-ahead; r.Drafted <= 0 || r.Accepted < 0 {
		return right
	}
	p.roundsWithoutDraft = 0
	for i := range r.Accepted {
		p.learn(right+i, true)
	}
	if r.Accepted == r.Drafted {
		return right + r.Accepted
	}
	if r.Kept > r.Accepted+ahead { // rejected, not cut off by the end
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
