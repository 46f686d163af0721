package assistant

// passTimes measures how long rounds take by the rows of their verifying pass.
type passTimes struct {
	groups       [groups]passGroup
	roundSeconds mean
	roundTokens  mean
}

// A passGroup has the times of passes for about the same number of streams: a mean for each number of rows, and a line
// through all. Means alone mislead: those of rare lengths are of few passes, and the best of them is too low by chance.
type passGroup struct {
	rows            [MaxTextDraft + 2]mean // seconds
	n, x, y, xx, xy float64                // sums for the line, x rows and y seconds; older passes weigh less
}

// observe adds a finished round.
func (t *passTimes) observe(streams int, r Round) {
	const memory, untriedMemory, lineMemory = 64, 128, 256
	g, rows := &t.groups[groupOf(streams)], r.Drafted+1
	if r.First || rows >= len(g.rows) {
		return
	}
	seconds := r.Verify.Seconds()
	if g.n > 0 {
		seconds = min(seconds, roundTimeCap*g.seconds(rows))
	}
	g.rows[rows].add(seconds, memory)
	const kept = 1 - 1.0/lineMemory
	for i := range g.rows { // the machine may have been busy when other lengths were measured
		if i != rows {
			g.rows[i].n *= 1 - 1.0/untriedMemory
		}
	}
	x := float64(rows)
	g.n, g.x, g.y, g.xx, g.xy = g.n*kept+1, g.x*kept+x, g.y*kept+seconds, g.xx*kept+x*x, g.xy*kept+x*seconds
	t.roundSeconds.add(r.Draft.Seconds()+seconds, memory)
	t.roundTokens.add(float64(r.Kept), memory)
}

// best returns the draft length of at most limit tokens with the largest expected gain, and that
// gain in seconds. right returns the probability that token i is right if all before it are.
func (t *passTimes) best(streams, limit int, right func(i int) float64) (length int, gain float64) {
	g := &t.groups[groupOf(streams)]
	one := g.seconds(1)
	token := one
	if t.roundTokens.v > 0 {
		token = t.roundSeconds.v / t.roundTokens.v
	}
	reach, sum := 1.0, 0.0
	for n := 1; n <= limit; n++ {
		reach *= right(n - 1)
		sum += reach
		if saved := sum*token - (g.seconds(n+1) - one); saved > gain {
			length, gain = n, saved
		}
	}
	return length, gain
}

// known reports whether a plain pass was measured.
func (t *passTimes) known(streams int) bool { return t.groups[groupOf(streams)].rows[1].n > 0 }

// saved returns the seconds that a round saved: those of plain decoding of its tokens, minus its
// own. A plain pass must be known. The prompt's part of a first pass is not counted: plain decoding has it too.
func (t *passTimes) saved(streams int, r Round) float64 {
	g := &t.groups[groupOf(streams)]
	pass := g.seconds(min(r.Drafted+1, len(g.rows)-1))
	verify := min(r.Verify.Seconds(), roundTimeCap*pass)
	if r.First {
		verify = pass
	}
	return float64(r.Kept)*g.rows[1].v - r.Draft.Seconds() - verify
}

// seconds returns the time of a pass with the given number of rows. Before any is measured, its unit is a pass.
func (g *passGroup) seconds(rows int) float64 {
	const (
		guess    = 0.1 // of a pass, per row
		steady   = 10  // weight of the guess
		straight = 16  // weight of the line, in passes
	)
	m := g.rows[rows]
	switch {
	case g.n == 0:
		return 1 + guess*float64(rows-1)
	case rows == 1 && m.n > 0:
		return m.v
	}
	x, y := g.x/g.n, g.y/g.n
	slope := (g.xy - x*g.y + steady*guess*y) / (g.xx - x*g.x + steady)
	line := max(y/4, y+slope*(float64(rows)-x))
	return (m.n*m.v + straight*line) / (m.n + straight)
}
