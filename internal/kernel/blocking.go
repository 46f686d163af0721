package kernel

import "verity/precision"

// A blockSize is how a product of many rows goes through memory: units of rows rows by a
// panel, each of which goes over depth k of the panel at a time.
//
// No result depends on it: a sum that is stored and taken up again is the same sum.
type blockSize struct{ rows, depth int }

// The sizes there are. Fewer rows do not pay for widening half precision; more, and
// more k, have no room in a partScratch.
var (
	unitRows   = []int{maxRows, 144, 96}
	floatDepth = []int{maxDepth, 192, 128, 96, 80, 64}
	int8Depth  = []int{maxInt8Depth, 1024, 768, 512, 384, 256}
)

// blockSizeFor returns as deep a size as keeps weights in two thirds of the first level,
// for all rows of a unit, and as many rows as half of the second level keeps beside their
// sums, for all panels. Where none does, units are as large as can be: weights are read less often.
func (m *Matrix) blockSizeFor(rows int, c cacheSizes) (b blockSize) {
	size, depths := 4, floatDepth // of an input, and of a weight in use
	if m.format == precision.Int8 {
		size, depths = 1, int8Depth
	}
	in := m.depth()
	for _, b.depth = range depths {
		if evenly(in, b.depth)*panel*size <= c.First/3*2 {
			break
		}
	}
	for _, b.rows = range unitRows {
		if n := min(b.rows, rows); n*in*size+4*panel*n <= c.Second/2 {
			return b
		}
	}
	b.rows = maxRows
	return b
}

// evenly returns the largest parts of n, at most most, that are of equal length in steps
// of four.
func evenly(n, most int) int {
	parts := max(1, (n+most-1)/most)
	return ((n+parts-1)/parts + 3) &^ 3
}
