package assistant

import (
	"math"
	"slices"
)

// A cost learns how long passes take by how many rows and streams they have. Near
// a pass it has seen it says what that took; elsewhere it says
//
//	t(m, k) = β0 + β1·k + β2·m + Σ βi·max(0, m - bend_i),  β ≥ 0
//
// fitted to all it has seen, and to what was assumed before: weights are read once
// for all, the keys and values of a window once for each of k streams, and arithmetic
// is done for each of m rows, dearer from where it takes longer than reading. A
// coefficient of which nothing is known is 0: what was never tried looks cheap, and is
// known once it is tried.
//
// The zero value is ready.
type cost struct {
	cells []cell
	prior []cell
	beta  [terms]float64
	unfit int // observations since the last fit
	clock int
}

// bends are rows from which one row more may cost more.
var bends = [...]float64{4, 8, 16, 32}

const (
	terms    = 3 + len(bends)
	maxCells = 96
)

// A cell is the mean of passes of about the same rows and the same streams.
type cell struct {
	bucket, streams int
	rows            float64 // mean
	took            mean    // s
	last            int     // clock of the last one
}

// bucket is the rows themselves up to 16, then an eighth of their logarithm.
func bucket(rows float64) int {
	if rows <= 16 {
		return int(rows + 0.5)
	}
	return 16 + int(8*math.Log2(rows/16)+0.5)
}

func (c *cost) find(rows float64, streams int) *cell {
	b := bucket(rows)
	for i := range c.cells {
		if x := &c.cells[i]; x.bucket == b && x.streams == streams {
			return x
		}
	}
	return nil
}

// add learns from a pass.
func (c *cost) add(rows, streams int, seconds float64) {
	c.clock++
	x := c.find(float64(rows), streams)
	if x == nil {
		if len(c.cells) == maxCells {
			oldest := slices.MinFunc(c.cells, func(a, b cell) int { return a.last - b.last })
			c.cells = slices.DeleteFunc(c.cells, func(x cell) bool { return x == oldest })
		}
		c.cells = append(c.cells, cell{bucket: bucket(float64(rows)), streams: streams})
		x = &c.cells[len(c.cells)-1]
		c.unfit += 100
	}
	if old := x.took.v; !(seconds > old*0.8 && seconds < old*1.25) {
		c.unfit += 8 // news
	}
	x.took.over(seconds, 64)
	x.rows += (float64(rows) - x.rows) / x.took.n
	x.last = c.clock
	c.unfit++
}

// known reports whether anything was seen or assumed.
func (c *cost) known() bool { return len(c.cells)+len(c.prior) > 0 }

// assume begins with the time it takes to read so many bytes in any case and so many
// for each stream, and a little for the arithmetic of each row, more from where that
// takes longer than reading. What is seen soon weighs more.
func (c *cost) assume(all, stream float64) {
	const (
		rate   = 40e9 // bytes a second: any number will do
		row    = 0.03 // of reading all
		beyond = 0.05 // more, from the eighth on
		weight = 0.25 // passes
	)
	for _, k := range []int{1, 2, 4, 8, 16} {
		for _, n := range []int{1, 2, 4, 8} {
			m := float64(k * n)
			t := (all*(1+row*(m-1)+beyond*max(0, m-8)) + stream*float64(k)) / rate
			c.prior = append(c.prior, cell{streams: k, rows: m, took: mean{t, weight}})
		}
	}
	c.unfit = 100
}

// at returns the seconds of a pass.
func (c *cost) at(rows float64, streams int) float64 {
	t := c.fitted(rows, streams)
	if x := c.find(rows, streams); x != nil {
		const trust = 2 // passes that weigh as much as the fit
		return (x.took.n*x.took.v + trust*t) / (x.took.n + trust)
	}
	return t
}

// slope returns what one row more costs.
func (c *cost) slope(rows float64) float64 {
	c.fit()
	s := c.beta[2]
	for i, bend := range bends {
		if rows >= bend {
			s += c.beta[3+i]
		}
	}
	return s
}

func (c *cost) fitted(rows float64, streams int) float64 {
	c.fit()
	t := 0.0
	for i, x := range features(rows, streams) {
		t += c.beta[i] * x
	}
	return t
}

func features(rows float64, streams int) (x [terms]float64) {
	x[0], x[1], x[2] = 1, float64(streams), rows
	for i, bend := range bends {
		x[3+i] = max(0, rows-bend)
	}
	return x
}

// fit finds the coefficients of the least sum of squared relative errors, by
// coordinate descent from the last ones, if there is news.
func (c *cost) fit() {
	if c.unfit < 16 {
		return
	}
	c.unfit = 0
	var gram [terms][terms]float64
	var right [terms]float64
	for _, cells := range [...][]cell{c.prior, c.cells} {
		for _, cell := range cells {
			x, y := features(cell.rows, cell.streams), max(cell.took.v, 1e-9)
			w := cell.took.n / (y * y)
			for i := range x {
				right[i] += w * x[i] * y
				for j := range x {
					gram[i][j] += w * x[i] * x[j]
				}
			}
		}
	}
	for range 50 {
		for i := range c.beta {
			r := right[i]
			for j := range c.beta {
				if j != i {
					r -= gram[i][j] * c.beta[j]
				}
			}
			if c.beta[i] = 0; gram[i][i] > 0 {
				c.beta[i] = max(0, r/gram[i][i])
			}
		}
	}
}

// A mean forgets: each value weighs a sixteenth, or more while there are few. A
// value above four times the mean counts as that, since it was the machine that
// hiccuped.
type mean struct{ v, n float64 }

const hiccup = 4

func (m *mean) add(x float64) { m.over(x, 16) }

// over adds x to a mean in which it weighs at least one in memory.
func (m *mean) over(x, memory float64) {
	if m.n > 4 {
		x = min(x, hiccup*m.v)
	}
	m.n = min(m.n+1, memory)
	m.v += (x - m.v) / m.n
}

// An accept is a share of accepted tokens that forgets.
type accept struct{ yes, n float64 }

func (a *accept) add(yes bool) {
	const memory = 0.99
	a.yes *= memory
	a.n = a.n*memory + 1
	if yes {
		a.yes++
	}
}

// rate starts at a prior that weighs as much as four tokens.
func (a *accept) rate(prior float64) float64 { return (a.yes + 4*prior) / (a.n + 4) }
