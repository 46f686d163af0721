package quantize

import (
	"math"

	"verity/internal/kernel"
	"verity/internal/quant"
	"verity/parallel"
	"verity/precision"
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

// A weight is a matrix to quantise. Its rows are read some at a time, so that no weight is in memory
// as a whole.
type weight struct {
	name       string
	rows, cols int
	read       func(lo, hi int) ([]float32, error) // rows
	h          *hessian                            // nil without calibration
	hm         *kernel.Matrix
}

// blockBytes is about how many bytes of float32 are read at a time.
const blockBytes = 4 << 20

// blocks calls do for all rows, some at a time.
func (w *weight) blocks(do func(first int, x []float32) error) error {
	step := max(together, blockBytes/4/w.cols/together*together)
	for lo := 0; lo < w.rows; lo += step {
		x, err := w.read(lo, min(w.rows, lo+step))
		if err == nil {
			err = do(lo, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// energy returns the energy of outputs, or without calibration of weights, for rows d of weights.
func (w *weight) energy(p *parallel.Pool, d []float32) (sum float64) {
	if w.h != nil {
		return w.h.squaredError(p, w.hm, d)
	}
	for _, v := range d {
		sum += float64(v) * float64(v)
	}
	return sum
}

// errorOf returns the energy of the error of rows of m, from first on, that should be x.
func (w *weight) errorOf(p *parallel.Pool, m *quant.Matrix, first int, x []float32) float64 {
	d := make([]float32, len(x))
	p.For(len(x)/w.cols, 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := d[r*w.cols:][:w.cols]
			m.Floats(first+r, row)
			for k := range row {
				row[k] -= x[r*w.cols+k]
			}
		}
	})
	return w.energy(p, d)
}

// grids fits the scales of all groups of rows x.
func (w *weight) grids(p *parallel.Pool, f quant.Format, x []float32) [][]quant.Grid {
	all := make([][]quant.Grid, len(x)/w.cols)
	var importance []float32
	if w.h != nil {
		importance = make([]float32, w.cols)
		for k := range importance {
			importance[k] = w.h.sum[k*w.cols+k] / float32(w.h.rows)
		}
	}
	p.For(len(all), 4, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			for k := 0; k < w.cols; k += quant.Group {
				var part []float32
				if importance != nil {
					part = importance[k : k+quant.Group]
				}
				all[r] = append(all[r], f.Fit(x[r*w.cols+k:][:quant.Group], part))
			}
		}
	})
	return all
}

// nearest rounds each weight of rows x by itself, into rows of m from first on.
func (w *weight) nearest(p *parallel.Pool, m *quant.Matrix, first int, x []float32) {
	grids := w.grids(p, m.Format, x)
	p.For(len(grids), 4, func(lo, hi int) {
		var codes [quant.Group]uint8
		for r := lo; r < hi; r++ {
			for group, g := range grids[r] {
				for i := range codes {
					codes[i] = g.Code(x[r*w.cols+group*quant.Group+i])
				}
				m.Put(first+r, group, g, codes[:])
			}
		}
	})
}

// zeroGain is the factor by which an error must fall for a zero in each group to be worth
// its bits.
const zeroGain = 0.97

// code quantises the weight, in the variant of the format with the smaller error.
func (w *weight) code(p *parallel.Pool, f quant.Format, s *solver) (coded, Result, error) {
	variants := []*quant.Matrix{quant.New(f, w.rows, w.cols)}
	if f == quant.Int4 {
		variants = append(variants, quant.New(quant.Int4Z, w.rows, w.cols))
	}
	var all float64 // the energy that errors are relative to
	errors := make([]float64, len(variants))
	err := w.blocks(func(first int, x []float32) error {
		all += w.energy(p, x)
		for i, m := range variants {
			w.nearest(p, m, first, x)
			errors[i] += w.errorOf(p, m, first, x)
		}
		return nil
	})
	if err != nil {
		return nil, Result{}, err
	}
	best, e := variants[0], relative(errors[0], all)
	if f == quant.Int4 && relative(errors[1], all) < zeroGain*e {
		best, e = variants[1], relative(errors[1], all)
	}
	result := w.result(best.Format.String(), e)
	if s != nil {
		m, sum := quant.New(best.Format, w.rows, w.cols), 0.0
		err := w.blocks(func(first int, x []float32) error {
			s.round(p, m, first, w.grids(p, m.Format, x), x)
			sum += w.errorOf(p, m, first, x)
			return nil
		})
		if err != nil {
			return nil, Result{}, err
		}
		if o := relative(sum, all); o < e {
			best, result.Error, result.Method = m, o, GPTQ
		}
	}
	result.Bytes = int64(len(best.Codes) + len(best.Scales) + len(best.Zeros))
	return grouped{best}, result, nil
}

// relative returns an error relative to its signal, given the energy of both.
func relative(e, all float64) float64 {
	if all == 0 {
		return 0
	}
	return math.Sqrt(e / all)
}

// result returns the description of a weight that was rounded to nearest.
func (w *weight) result(format string, e float64) Result {
	return Result{
		Name: w.name, Format: format, Method: Nearest, Weights: int64(w.rows) * int64(w.cols), Nearest: e, Error: e,
	}
}

// bytes rounds the weight to int8, as a model is while it is loaded.
func (w *weight) bytes() (coded, Result, error) {
	m := quant.NewRows(w.rows, w.cols)
	row := make([]float32, w.cols)
	var all, sum float64
	err := w.blocks(func(first int, x []float32) error {
		for r := first; len(x) > 0; r, x = r+1, x[w.cols:] {
			m.Put(r, kernel.RoundRow(m.Row(r), x[:w.cols]))
			m.Floats(r, row)
			for k, v := range x[:w.cols] {
				all += float64(v) * float64(v)
				sum += float64(row[k]-v) * float64(row[k]-v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, Result{}, err
	}
	result := w.result(precision.Int8.String(), relative(sum, all))
	result.Bytes = int64(len(m.Codes) + len(m.Scales))
	return byRow{m}, result, nil
}
