package kernel

import "cmp"

// farAhead is how many bytes ahead weights that come from memory are prefetched. With half or
// twice as many, products take up to a twentieth longer.
const farAhead = 8192

// rowGroups cuts rows into groups that go through the weights together.
type rowGroups struct {
	rows, count int // still to come

	// The prefetching of a group: arguments of an asmRows.
	ahead, pace, share int
}

// newRowGroups cuts rows into groups of at most limit rows, of about equal size. Each group
// reads n·width bytes. Every group prefetches an equal share of the next weights, so that
// memory is never idle.
func newRowGroups(rows, limit, width, n int, next hint) rowGroups {
	g := rowGroups{rows: rows, count: (rows + limit - 1) / limit}
	if rows <= fewRows {
		switch {
		case next.block:
			g.ahead = n * width
		case rows >= aheadRows:
			g.ahead = farAhead
		}
		g.pace = width
		return g
	}
	g.pace = ((cmp.Or(next.width, width)+g.count-1)/g.count + 7) &^ 7 // for tiles that go through it in slices
	g.ahead, g.share = next.ahead, n*g.pace
	if next.block {
		g.ahead = n * width
	}
	g.ahead -= g.share
	return g
}

func (g *rowGroups) next() int {
	m := (g.rows + g.count - 1) / g.count
	g.rows -= m
	g.count--
	g.ahead += g.share
	return m
}

// prefetch asks, for writing, for the destination of rows first … first+rows-1.
func (h *hint) prefetch(first, rows int) {
	if h.dst != nil {
		prefetchRows(&h.dst[first*h.stride], h.stride, rows)
	}
}

// at returns the hint for the block that begins at step k, with width bytes of weights
// per step. If k is below last, more blocks follow before dst is written.
func (h hint) at(k, last, width int) hint {
	if k < last {
		h.dst = nil
	}
	if h.width > 0 {
		h.ahead -= k * (width - h.width)
	}
	return h
}
