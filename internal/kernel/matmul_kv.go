package kernel

import (
	"sync"

	"verity/parallel"
)

// A Slot says where the keys and values of a row belong.
type Slot struct {
	K   *Keys
	V   *Values
	Pos int
}

// MatMulKV computes x·wᵀ + bias, as [MatMul] does, and puts the last outputs into
// caches: with width = heads·dim, the last 2·width are the keys and the values of
// each row, and the others go to dst.
//
//	x       [rows][In], row r at x[r·xStride]
//	dst     [rows][Out-2·width], no part of x; nil if there is nothing for it
//	places  [rows], in caches of the same heads and dim
//
// Numbers are rounded as [Keys.Set] rounds them, and written while they are in a near
// cache. A product followed by Set would read and write them in memory. No two rows may
// have the same place.
//
// With int8 weights, x is rounded into keep, unless keep is nil. If keep already holds
// the same x, it is used as it is.
//
// It panics if a slice is too short, or a place outside its caches.
func MatMulKV(
	p *parallel.Pool, dst []float32, places []Slot, x []float32, xStride int,
	w *Matrix, bias []float32, keep *RoundedRows,
) {
	if len(places) == 0 {
		return
	}
	rest := w.out - 2*places[0].K.heads*places[0].K.dim
	checkPlaces(places, rest)
	if len(dst) < len(places)*rest {
		panic("kernel: a slice of MatMulKV is too short")
	}
	if places[0].K.isInt8() && !headsInPanels(rest, places[0].K.dim) {
		multiplySet(p, dst, places, x, xStride, w, bias, keep)
		return
	}
	multiply(p, matmul{
		dst: dst, x: x, rows: len(places), xStride: xStride, w: w, bias: bias, places: places,
		stride: rest, rounded: keep,
	})
}

// headsInPanels reports whether every panel of outputs consists of whole heads: a part of
// a head cannot be rounded to int8. All published models have heads of 64, one per panel.
func headsInPanels(rest, dim int) bool { return panel%dim == 0 && rest%dim == 0 }

// numbers holds buffers: of products that cannot be written to caches directly, and of exponentials.
var numbers = sync.Pool{New: func() any { return new([]float32) }}

// multiplySet does what MatMulKV does where a product cannot be written to the caches by
// panels: it finishes the product first, and stores it then.
func multiplySet(
	p *parallel.Pool, dst []float32, places []Slot, x []float32, xStride int,
	w *Matrix, bias []float32, keep *RoundedRows,
) {
	scratch := numbers.Get().(*[]float32)
	defer numbers.Put(scratch)
	*scratch = Resize(*scratch, len(places)*w.out)
	width, all := places[0].K.heads*places[0].K.dim, *scratch
	multiply(p, matmul{
		dst: all, x: x, rows: len(places), xStride: xStride, w: w, bias: bias, stride: w.out, rounded: keep,
	})
	for r, to := range places {
		row := all[r*w.out:][:w.out]
		rest := copy(dst[r*(w.out-2*width):], row[:w.out-2*width])
		to.K.Set(nil, to.Pos, 1, row[rest:], width)
		to.V.Set(nil, to.Pos, 1, row[rest+width:], width)
	}
}

// checkPlaces panics if a place does not fit, or if rest is negative: there are fewer
// outputs than numbers in keys and values.
func checkPlaces(places []Slot, rest int) {
	first := places[0].K
	for _, p := range places {
		if p.K.heads != first.heads || p.K.dim != first.dim ||
			p.V.heads != first.heads || p.V.dim != first.dim || rest < 0 {
			panic("kernel: MatMulKV with caches of another shape")
		}
		if p.K.isInt8() != first.isInt8() || p.V.isInt8() != first.isInt8() {
			panic("kernel: MatMulKV with caches of which some are int8")
		}
		if p.Pos < 0 || p.Pos >= p.K.capacity || p.Pos >= p.V.capacity {
			panic("kernel: MatMulKV outside the cache")
		}
	}
}

// spread stores finished outputs of panel p, tile [rows][64], for rows rows from first
// on.
func (m *matmul) spread(tile []float32, p, first, rows int) {
	for lo := 0; lo < rows; {
		hi := lo + 1
		for hi < rows && m.places[first+hi].follows(m.places[first+hi-1]) {
			hi++
		}
		m.spreadRun(tile[lo*panel:], p, first+lo, hi-lo)
		lo = hi
	}
}

// follows reports whether p is the position after q in the same caches.
func (p Slot) follows(q Slot) bool { return p.K == q.K && p.V == q.V && p.Pos == q.Pos+1 }

// spreadRun is spread for rows at consecutive positions of the same caches.
func (m *matmul) spreadRun(tile []float32, p, first, rows int) {
	to := m.places[first]
	dim, width := to.K.dim, to.K.heads*to.K.dim
	for o, end := p*panel, min((p+1)*panel, m.w.out); o < end; {
		x, i := tile[o%panel:], o-m.stride // i counts from the first number of the keys
		n := min(dim-i%dim, end-o)
		switch {
		case i < 0:
			n = min(-i, end-o)
			for r := range rows {
				copy(m.dst[(first+r)*m.stride+o:][:n], x[r*panel:])
			}
		case i < width:
			to.K.put(i/dim, i%dim, n, to.Pos, rows, x, panel)
		default:
			to.V.put(i/dim-to.K.heads, i%dim, n, to.Pos, rows, x, panel)
		}
		o += n
	}
}
