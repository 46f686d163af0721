package assistant

// What Auto knows about each length: guesses, and then measurements.

// guess returns the estimated round time with drafts of n tokens and k streams, relative to
// plain decoding. A pass reads the weights once and computes a little for each row; rows cost
// more once arithmetic takes longer than reading.
func guess(n, k int, cost float64) float64 {
	pass := func(rows int) float64 { return 1 + 0.03*float64(rows-1) + 0.05*float64(max(0, rows-8)) }
	return float64(n)*cost + pass(k*(n+1))/pass(k)
}

// cost returns the expected seconds per token of a length, or units per token while there
// is no pace yet. a.mu is held.
func (a *Auto) cost(g *group, i int) float64 {
	if g.pace.n == 0 {
		return g.level(i) / a.yield(lengths[i])
	}
	c := g.level(i) * g.pace.v / a.yield(lengths[i])
	if i > 0 {
		c += a.openingCost()
	}
	return c
}

// level returns the round time of a length in units of pace. For a length never used, it adds
// the time of the draft steps to the nearest length used. The cost of its rows in the verify
// pass is measured once it is used.
func (g *group) level(i int) float64 {
	near := -1
	for j, x := range g.candidates {
		if x.n > 0 && j > 0 && (near < 0 || abs(j-i) < abs(near-i)) {
			near = j
		}
	}
	if g.candidates[i].n > 0 || near < 0 || g.draftStep.n == 0 {
		return g.candidates[i].level
	}
	return g.candidates[near].level + float64(lengths[i]-lengths[near])*g.draftStep.v/g.pace.v
}

func abs(n int) int { return max(n, -n) }

// openingCost returns the time of opening windows, in seconds per token. Streams wait for each
// other, so each opening delays all.
func (a *Auto) openingCost() float64 {
	tokens := (a.window.v*a.window.n + 2*50) / (a.window.n + 2) // the first guess counts as two windows of 50
	return a.opening.v * float64(a.active) / tokens
}

// yield returns the expected number of tokens that a round with drafts of n tokens keeps.
func (a *Auto) yield(n int) float64 {
	sum, reach, rate := 1.0, 1.0, 0.8
	for j := range n {
		rate = a.survival[j].rate(rate)
		reach *= rate
		sum += reach
	}
	return sum
}

// recordRound adds a round of length i in which k streams took part. The time of a very long
// round is capped, because the machine was busy with something else.
func (g *group) recordRound(i int, seconds float64, k int) {
	x := &g.candidates[i]
	if g.pace.n > 0 {
		seconds = min(seconds, roundTimeCap*g.level(i)*g.pace.v)
	}
	known := epoch * float64(k)
	if g.pace.n < known || i == g.inUse && x.n >= known {
		g.pace.add(seconds/x.level, 4*known)
		return
	}
	if x.n++; x.n == 1 {
		x.level = 0
	}
	x.level += (seconds/g.pace.v - x.level) / min(x.n, 4*known)
}
