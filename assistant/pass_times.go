package assistant

// passTimes measures how long rounds take by the rows of their verifying pass.
type passTimes struct {
	passes       [groups][MaxTextDraft + 2]mean // [rows]: seconds
	roundSeconds mean
	roundTokens  mean
}

// observe adds a finished round.
func (t *passTimes) observe(streams int, r Round) {
	const memory = 64
	known, rows := &t.passes[groupOf(streams)], r.Drafted+1
	if r.First || rows >= len(known) {
		return
	}
	seconds := r.Verify.Seconds()
	if known[rows].n > 0 {
		seconds = min(seconds, roundTimeCap*known[rows].v)
	}
	known[rows].add(seconds, memory)
	t.roundSeconds.add(r.Draft.Seconds()+seconds, memory)
	t.roundTokens.add(float64(r.Kept), memory)
}

// forget makes drafts of lengths that were not measured lately be tried again: the machine may have been busy then.
func (t *passTimes) forget(streams int) {
	const memory, least = 64, 0.2
	known := &t.passes[groupOf(streams)]
	for i := 2; i < len(known); i++ {
		if known[i].n -= known[i].n / memory; known[i].n < least {
			known[i].n = 0
		}
	}
}

// best returns the draft length of at most limit tokens with the largest expected gain, and that
// gain in seconds. right returns the probability that token i is right if all before it are.
func (t *passTimes) best(streams, limit int, right func(i int) float64) (length int, gain float64) {
	known := &t.passes[groupOf(streams)]
	one := passSeconds(known, 1)
	token := one
	if t.roundTokens.v > 0 {
		token = t.roundSeconds.v / t.roundTokens.v
	}
	reach, sum := 1.0, 0.0
	for n := 1; n <= limit; n++ {
		reach *= right(n - 1)
		sum += reach
		if g := sum*token - (passSeconds(known, n+1) - one); g > gain {
			length, gain = n, g
		}
	}
	return length, gain
}

// known reports whether a plain pass was measured.
func (t *passTimes) known(streams int) bool { return t.passes[groupOf(streams)][1].n > 0 }

// saved returns the seconds that a round saved: those of plain decoding of its tokens, minus its
// own. A plain pass must be known. The prompt's part of a first pass is not counted: plain decoding has it too.
func (t *passTimes) saved(streams int, r Round) float64 {
	known := &t.passes[groupOf(streams)]
	pass := passSeconds(known, min(r.Drafted+1, len(known)-1))
	verify := min(r.Verify.Seconds(), roundTimeCap*pass)
	if r.First {
		verify = pass
	}
	return float64(r.Kept)*known[1].v - r.Draft.Seconds() - verify
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
