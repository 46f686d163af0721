package quantize

import (
	"cmp"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"verity/internal/quant"
	"verity/parallel"
)

// damping is added to the diagonal of a Hessian, as a fraction of its mean.
// Source: IST-DASLab/gptq, percdamp.
const damping = 0.01

// A solver rounds rows of weights so that each column compensates for the errors of those
// before it.
type solver struct {
	size  int
	order []int     // columns by the energy of their inputs
	upper []float32 // [size][size] in that order: the upper Cholesky factor of the inverse Hessian
}

var errNotPositive = errors.New("quantize: the Hessian of a layer is not positive definite")

// newSolver factors a Hessian H. If R is upper triangular and H = R·Rᵀ, then H⁻¹ =
// R⁻ᵀ·R⁻¹, so R⁻¹ is the factor. R is the Cholesky factor of H turned by 180°.
func newSolver(h *hessian) (*solver, error) {
	n := h.size
	s := &solver{size: n, order: make([]int, n), upper: make([]float32, n*n)}
	var mean float64
	for i := range n {
		s.order[i] = i
		mean += float64(h.sum[i*n+i]) / float64(n)
	}
	if !(mean > 0) {
		return nil, errNotPositive
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(h.sum[b*n+b], h.sum[a*n+a]) })
	turned := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a, b := s.order[n-1-i], s.order[n-1-j]
			v := float64(h.sum[a*n+b])
			if i == j {
				if v == 0 { // an input that is always 0
					v = mean
				}
				v += damping * mean
			}
			turned.SetSym(i, j, v)
		}
	}
	return s, s.factor(turned)
}

func (s *solver) factor(turned *mat.SymDense) error {
	n := s.size
	var c mat.Cholesky
	if !c.Factorize(turned) {
		return errNotPositive
	}
	var lower, inverse mat.TriDense
	c.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil {
		return err
	}
	for i := range n {
		for j := i; j < n; j++ {
			s.upper[i*n+j] = float32(inverse.At(n-1-i, n-1-j))
		}
	}
	return nil
}

// together is how many rows are rounded at a time: each reads all of upper.
const together = 8

// round rounds rows w on the given grids, and puts the codes in rows of m from first on.
func (s *solver) round(p *parallel.Pool, m *quant.Matrix, first int, grids [][]quant.Grid, w []float32) {
	p.For((len(grids)+together-1)/together, 1, func(lo, hi int) {
		for at := lo * together; at < min(len(grids), hi*together); at += together {
			s.rows(m, first, grids, w, at, min(len(grids), at+together))
		}
	})
}

// rows is round for rows lo … hi-1 of w.
func (s *solver) rows(m *quant.Matrix, first int, grids [][]quant.Grid, w []float32, lo, hi int) {
	n := s.size
	x := make([]float32, (hi-lo)*n) // in order
	codes := make([]uint8, (hi-lo)*n)
	for r := lo; r < hi; r++ {
		for j, k := range s.order {
			x[(r-lo)*n+j] = w[r*n+k]
		}
	}
	for j, k := range s.order {
		u := s.upper[j*n : (j+1)*n]
		for r := lo; r < hi; r++ {
			row := x[(r-lo)*n:][:n]
			g := grids[r][k/quant.Group]
			code := g.Code(row[j])
			codes[(r-lo)*n+k] = code
			e := (row[j] - g.Value(code)) / u[j]
			for i, v := range u[j+1:] {
				row[j+1+i] -= float32(e * v)
			}
		}
	}
	for r := lo; r < hi; r++ {
		for group, g := range grids[r] {
			m.Put(first+r, group, g, codes[(r-lo)*n+group*quant.Group:][:quant.Group])
		}
	}
}
