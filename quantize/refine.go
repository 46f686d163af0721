package quantize

import (
	"verity/internal/kernel"
	"verity/internal/quant"
)

// sweeps is how often a row is refined. Further ones change little.
const sweeps = 3

// refine lowers the error of rounded rows lo … hi-1, w being their weights: in turn it fits
// each scale to its codes, and moves each code to where the error is least while all
// others stay. GPTQ does neither: it never returns to a column, and its scales are those
// of unchanged weights.
func (s *solver) refine(grids [][]quant.Grid, codes []uint8, w []float32, lo, hi int) {
	n := s.size
	d := make([]float32, (hi-lo)*n)
	slopes := make([]float32, len(d))
	for r := range hi - lo {
		for k := range n {
			d[r*n+k] = grids[lo+r][k/quant.Group].Value(codes[r*n+k]) - w[(lo+r)*n+k]
		}
	}
	kernel.MatMul(nil, slopes, d, hi-lo, n, s.hm, nil, kernel.Store)
	for i, v := range d {
		slopes[i] += float32(s.extra * v)
	}
	l := line{s: s, sum: make([]float32, n)}
	for r := range hi - lo {
		l.slope = slopes[r*n:][:n]
		for range s.sweeps {
			changed := false
			for group := range grids[lo+r] {
				part := codes[r*n+group*quant.Group:][:quant.Group]
				fitted := l.fit(&grids[lo+r][group], part, group*quant.Group)
				changed = l.move(grids[lo+r][group], part, group*quant.Group) || fitted
			}
			if !changed {
				break
			}
		}
	}
}

// A line is a row that is refined.
type line struct {
	s     *solver
	slope []float32 // half the gradient of the error: its difference from the weights times the Hessian
	sum   []float32
}

// fit changes the scale of the group at column at to the best for its codes, and reports
// whether it did.
func (l *line) fit(g *quant.Grid, codes []uint8, at int) bool {
	if g.Scale() == 0 {
		return false
	}
	clear(l.sum) // the change of the slope with the scale
	var first, second float32
	for i, c := range codes {
		v := g.Value(c) / g.Scale()
		if v == 0 {
			continue
		}
		add(l.sum, v, l.s.row(at+i))
		l.sum[at+i] += float32(l.s.extra * v)
		first += float32(v * l.slope[at+i])
	}
	for i, c := range codes {
		second += float32(g.Value(c) / g.Scale() * l.sum[at+i])
	}
	if !(second > 0) {
		return false
	}
	to := g.Rescaled(g.Scale() - first/second)
	by := to.Scale() - g.Scale()
	if gain := float32(2*by*first) + float32(float32(by*by)*second); !(gain < 0) || to.Scale() == 0 {
		return false
	}
	*g = to
	add(l.slope, by, l.sum)
	return true
}

// move changes the codes of the group at column at, one after the other, and reports
// whether it changed any.
func (l *line) move(g quant.Grid, codes []uint8, at int) (changed bool) {
	if g.Scale() == 0 {
		return false
	}
	for i, c := range codes {
		k := at + i
		second := l.s.row(k)[k] + l.s.extra
		if !(second > 0) {
			continue
		}
		from := g.Value(c)
		to := g.Code(from - l.slope[k]/second)
		by := g.Value(to) - from
		if gain := float32(2*by*l.slope[k]) + float32(float32(by*by)*second); !(gain < 0) {
			continue
		}
		codes[i], changed = to, true
		add(l.slope, by, l.s.row(k))
		l.slope[k] += float32(l.s.extra * by)
	}
	return changed
}

// add adds c·x to y.
func add(y []float32, c float32, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += float32(c * v)
	}
}
