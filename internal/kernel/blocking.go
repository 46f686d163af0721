package kernel

import "verity/precision"

// A shape is what the blocking of a product of many rows depends on.
type shape struct {
	rows, in, panels int
	weights          precision.Format // as they lie in memory
}

// sizes returns the bytes of an element of x, and of a weight in memory and in use.
func (s shape) sizes() (x, stored, used int) {
	switch s.weights {
	case precision.F16:
		return 4, 2, 4
	case precision.Int8:
		return 1, 1, 1
	}
	return 4, 4, 4
}

// A blocking says how a product goes through memory: units of so many rows by a panel,
// each going over so many k of the panel at a time.
//
// No result depends on it: a sum that is stored and taken up again is the same sum.
type blocking struct{ rows, depth int }

// A traffic is the bytes that a product brings into a core's caches of either level.
type traffic struct{ first, second int }

// farther is how much longer a byte takes from memory or the last level than from the
// second. It decides where a blocking that is better for one level is worse for the other.
const farther = 4

// The blockings there are. Fewer rows do not pay for widening half precision; more, and
// more k, have no room in a scratch.
var (
	unitRows   = []int{maxRows, 144, 96}
	floatDepth = []int{maxDepth, 192, 128, 96, 80, 64}
	int8Depth  = []int{maxInt8Depth, 1024, 768, 512, 384, 256}
)

// plan returns the blocking of least traffic, of equal ones the first.
func plan(s shape, c CacheSizes) (best blocking) {
	least := 0
	depths := floatDepth
	if s.weights == precision.Int8 {
		depths = int8Depth
	}
	for _, rows := range unitRows {
		for _, depth := range depths {
			b := blocking{rows, depth}
			t := b.traffic(s, c)
			if cost := t.first + farther*t.second; best.rows == 0 || cost < least {
				best, least = b, cost
			}
		}
	}
	return best
}

// evenly returns the largest parts of n, at most most, that are of equal length in steps
// of four.
func evenly(n, most int) int {
	parts := max(1, (n+most-1)/most)
	return ((n+parts-1)/parts + 3) &^ 3
}

// traffic estimates what a product brings into the caches, if a cache keeps what is used
// again as long as that fills no more than two thirds of the first level, or half of the
// second.
func (b blocking) traffic(s shape, c CacheSizes) (t traffic) {
	x, stored, used := s.sizes()
	depth := evenly(s.in, b.depth)
	blocks := (s.in + depth - 1) / max(1, depth)
	for lo := 0; lo < s.rows; lo += b.rows {
		rows := min(b.rows, s.rows-lo)
		groups := (rows + few - 1) / few
		weights, inputs, sums := panel*s.in, rows*s.in*x, 2*4*panel*rows*blocks
		first := weights * used
		if depth*panel*used > c.First/3*2 { // each group of rows brings them again
			first *= groups
		}
		t.first += s.panels * (first + inputs + sums)
		t.second += s.panels * weights * stored
		if inputs+4*panel*rows <= c.Second/2 {
			t.second += inputs
		} else {
			t.second += s.panels * inputs
		}
	}
	return t
}
