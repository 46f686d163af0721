package assistant

import (
	"math/bits"
	"sync"
)

// MaxTextDraft is the most tokens that are drafted from a text at a time.
const MaxTextDraft = 24

// A TextPolicy decides how much is drafted from texts, for all streams that decode together. A
// draft is free, but its rows are not: it is as long as each row's part in tokens is
// worth more than the time that the row adds to a pass. All three are measured:
//
//   - how long a pass takes with so many rows of a stream, for a few numbers of streams;
//   - how often a drafted token is right, by how many before it were: after a mismatch
//     drafts are short, in a good run long;
//   - what a token takes, which is what a right one saves.
type TextPolicy struct {
	// Streams returns how many streams decode together now.
	Streams func() int

	mu                 sync.Mutex
	passes             [groups][MaxTextDraft + 2]mean // [rows]: seconds
	hitRates           [6]frequency                   // by runOf
	roundSeconds       mean                           // of a round
	roundTokens        mean                           // tokens of a round
	roundsWithoutDraft int                            // rounds without a draft since the last trial
}

// runOf returns the class of a token after so many right ones in a row.
func runOf(right int) int { return min(bits.Len(uint(right)), 5) }

// firstGuess is how often a token is right before anything was measured, by runOf.
var firstGuess = [6]float64{0.6, 0.75, 0.85, 0.9, 0.93, 0.95}

// passTimes returns the passes for the present number of streams.
func (p *TextPolicy) passTimes() *[MaxTextDraft + 2]mean {
	return &p.passes[groupOf(p.Streams())]
}

// passSeconds returns the seconds of a pass of so many rows: measured, or between the nearest
// that are, or guessed to be cheap, so that it is tried.
func passSeconds(known *[MaxTextDraft + 2]mean, rows int) float64 {
	const guess = 0.03 // of a pass, for a row
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
		return above.v / (1 + 4*guess*float64(high-rows)) // dear, so that fewer are tried
	}
	return 1 + guess*float64(rows)
}

// length returns how many tokens to draft after so many right ones.
func (p *TextPolicy) length(right int) int {
	const trial = 32 // one in so many rounds drafts a little where nothing seems to pay
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

// observe learns from a round that drafted from a text after so many right tokens, or did
// not draft, and returns how many are right in a row then. The first tokens of the draft
// tell nothing of the text.
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
	if r.Kept > r.Accepted+ahead { // refused, not behind the end
		p.learn(right+r.Accepted, false)
	}
	return 0
}

// recordDraft notes whether a token was right after so many right ones. It forgets faster than
// Auto does: another clip may have another text.
func (p *TextPolicy) learn(after int, right bool) {
	const most = 40 // tokens
	s := &p.hitRates[runOf(after)]
	s.forget(most)
	s.add(right)
}
