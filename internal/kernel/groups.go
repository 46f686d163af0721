package kernel

import "cmp"

// A prefetchPolicy is how an architecture asks for weights before they are needed.
type prefetchPolicy struct {
	far int  // bytes ahead, for six rows, which take as long as memory does
	few bool // ask as far ahead for fewer rows, too
}

// groups cuts rows into groups that go through the weights together.
type groups struct {
	rows, count int // still to come

	// What the group prefetches, as an asmTile is told.
	ahead, pace, share int
}

// newGroups cuts rows into groups of at most limit, all about as large. Each goes
// over n times width bytes. The next weights are prefetched in equal shares by all
// groups, so that memory never waits.
func newGroups(rows, limit, width, n int, next hint) groups {
	g := groups{rows: rows, count: (rows + limit - 1) / limit}
	if rows <= few {
		if rows == few || prefetch.few {
			g.ahead = prefetch.far
		}
		g.pace = width
		return g
	}
	g.pace = (cmp.Or(next.width, width) + g.count - 1) / g.count
	g.ahead, g.share = next.ahead, n*g.pace
	g.ahead -= g.share
	return g
}

// next returns the rows of the next group.
func (g *groups) next() int {
	m := (g.rows + g.count - 1) / g.count
	g.rows -= m
	g.count--
	g.ahead += g.share
	return m
}

// fetch prefetches, for writing, what rows first … first+rows-1 will go to.
func (h *hint) fetch(first, rows int) {
	if h.dst != nil {
		fetchRows(&h.dst[first*h.stride], h.stride, rows)
	}
}

// at returns the hint for what begins at step k of weights of width bytes a step. If
// k is below last, more of them come before dst is written.
func (h hint) at(k, last, width int) hint {
	if k < last {
		h.dst = nil
	}
	if h.width > 0 {
		h.ahead -= k * (width - h.width)
	}
	return h
}
