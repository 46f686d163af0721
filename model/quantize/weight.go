package quantize

import (
	"math"

	"verity/internal/kernel"
	"verity/internal/quant"
	"verity/parallel"
)

// A Result describes one quantised weight.
type Result struct {
	Name    string
	Format  string
	Method  Method
	Weights int64
	Bytes   int64
	Nearest float64 // error of rounding to nearest, relative to the outputs, or without calibration to the weights
	Error   float64 // of the codes that were written, likewise
}

// Decibels returns an error relative to its signal, in dB below it.
func Decibels(e float64) float64 { return -20 * math.Log10(e) }

// A weight is a matrix to quantise.
type weight struct {
	name       string
	rows, cols int
	w          []float32
	h          *hessian // nil without calibration
	hm         *kernel.Matrix
	ref        float64 // energy of the outputs, or of the weights
}

func (w *weight) errorOf(p *parallel.Pool, m *quant.Matrix) float64 {
	d := make([]float32, len(w.w))
	p.For(w.rows, 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := d[r*w.cols:][:w.cols]
			m.Floats(r, row)
			for k := range row {
				row[k] -= w.w[r*w.cols+k]
			}
		}
	})
	if w.ref == 0 {
		return 0
	}
	return math.Sqrt(w.energy(p, d) / w.ref)
}

func (w *weight) energy(p *parallel.Pool, d []float32) (sum float64) {
	if w.h != nil {
		return w.h.squaredError(p, w.hm, d)
	}
	for _, v := range d {
		sum += float64(v) * float64(v)
	}
	return sum
}

// grids fits the scales of all groups.
func (w *weight) grids(p *parallel.Pool, f quant.Format) [][]quant.Grid {
	all := make([][]quant.Grid, w.rows)
	var importance []float32
	if w.h != nil {
		importance = make([]float32, w.cols)
		for k := range importance {
			importance[k] = w.h.sum[k*w.cols+k] / float32(w.h.rows)
		}
	}
	p.For(w.rows, 4, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			for k := 0; k < w.cols; k += quant.Group {
				var part []float32
				if importance != nil {
					part = importance[k : k+quant.Group]
				}
				all[r] = append(all[r], f.Fit(w.w[r*w.cols+k:][:quant.Group], part))
			}
		}
	})
	return all
}

// nearest rounds each weight by itself.
func (w *weight) nearest(p *parallel.Pool, f quant.Format, grids [][]quant.Grid) *quant.Matrix {
	m := quant.New(f, w.rows, w.cols)
	p.For(w.rows, 4, func(lo, hi int) {
		var codes [quant.Group]uint8
		for r := lo; r < hi; r++ {
			for group, g := range grids[r] {
				for i := range codes {
					codes[i] = g.Code(w.w[r*w.cols+group*quant.Group+i])
				}
				m.Put(r, group, g, codes[:])
			}
		}
	})
	return m
}

// zeroGain is the factor by which an error must fall for a zero in each group to be worth
// its bits.
const zeroGain = 0.97

// code quantises the weight, in the variant of the format with the smaller error.
func (w *weight) code(p *parallel.Pool, f quant.Format, s *solver) (*quant.Matrix, Result) {
	grids := w.grids(p, f)
	best := w.nearest(p, f, grids)
	e := w.errorOf(p, best)
	if f == quant.Int4 {
		other := w.grids(p, quant.Int4Z)
		m := w.nearest(p, quant.Int4Z, other)
		if o := w.errorOf(p, m); o < zeroGain*e {
			grids, best, e = other, m, o
		}
	}
	result := Result{
		Name: w.name, Format: best.Format.String(), Method: Nearest, Weights: int64(w.rows) * int64(w.cols),
		Nearest: e, Error: e,
	}
	if s != nil {
		m := quant.New(best.Format, w.rows, w.cols)
		s.round(p, m, grids, w.w)
		if o := w.errorOf(p, m); o < e {
			best, result.Error, result.Method = m, o, GPTQ
		}
	}
	result.Bytes = int64(len(best.Codes) + len(best.Scales) + len(best.Zeros))
	return best, result
}
