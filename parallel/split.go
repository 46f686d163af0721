package parallel

// Split returns the range lo … hi-1 that is part i of n things cut into parts:
// contiguous, in order, sizes differing by at most one, the larger ones first.
func Split(n, parts, i int) (lo, hi int) {
	size, rest := n/parts, n%parts
	lo = i*size + min(i, rest)
	hi = lo + size
	if i < rest {
		hi++
	}
	return lo, hi
}

// For calls f with contiguous ranges that cover 0 … n-1, at the same time and in
// any order. A range has about grain things or more; grain below 1 counts as 1.
// It allocates, so code that runs once per token has a [Task] of its own.
func (p *Pool) For(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	// Four parts per thread even out threads of different speed.
	parts := max(1, min(4*p.Threads(), n/grain))
	p.Run(parts, &loop{n, parts, f})
}

// A loop is the task of For.
type loop struct {
	n, parts int
	f        func(lo, hi int)
}

func (l *loop) Part(i int) { l.f(Split(l.n, l.parts, i)) }
