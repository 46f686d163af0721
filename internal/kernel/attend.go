package kernel

import (
	"sync"

	"verity/parallel"
)

// blockRows is the maximum number of query rows in one part of the work; blockTiles is
// the same for int8, whose tiles have more rows. A part is done one tile at a time, while
// the keys and values of its head stay in the second-level cache.
const (
	blockRows  = 4 * tileRows
	blockTiles = 2 * int8TileRows
)

// A Span says which cached positions a query row attends to: 0 … N-1 of K and V,
// at least one.
type Span struct {
	K *Keys
	V *Values
	N int
}

// A Scratch holds the buffers that calls of Attend reuse. The zero value is ready. It
// serves one call at a time.
type Scratch struct {
	mu   sync.Mutex
	free []*attendBuffer // one for each part that has run concurrently
	job  attendJob
}

// An attendBuffer is the working memory of one tile of rows.
type attendBuffer struct {
	stride int
	query  []float32 // [rows][dim], scaled
	scores []float32 // [rows][stride]
	out    []float32 // [rows][cols]
	sums   [int8TileRows]float32
	i8     int8Buffer
}

// Attend computes attention of every query row, in every head:
//
//	q'   = q·scale                                      (rounded)
//	s[j] = fma chain over d = 0 … dim-1 of q'[d]·K[j][d]   for j < N
//	m    = max s;  e[j] = Exp(s[j]-m);  t = Σ e          (sixteen partials)
//	out[c] = (fma chain over j = 0 … N-1 of e[j]·V[j][c]) / t
//
// The chains start at +0.
//
// Over int8 caches, whose keys and values are integers k[j], v[j] times scales ks[j],
// vs[j], q is rounded to int8 as well, q8 of scale qs, and so are the weights, to
// unsigned bytes, 256 keys at a time. Integers are summed exactly, and every other
// operation rounds:
//
//	s[j] = float32(Σ_d q8[d]·k[j][d])·((qs·scale)·ks[j])
//	m, e[j] and t as before
//	for each block of the keys 0 … 255, 256 … 511, …, up to N-1:
//	    w[j] = e[j]·vs[j];  M = max w;  u[j] = w[j]·(255/M), to the nearest integer
//	    out[c] += float32(Σ u[j]·v[j][c])·(M/255)
//	out[c] = out[c] / t
//
// NaN or infinity in q, or in a key or value that a row attends to, makes the row's
// output NaN.
//
//	dst    [len(spans)][heads·dim]
//	q      [len(spans)][qStride], of which the first heads·dim are used
//	spans  one per row
//
// Neighbouring rows with the same caches share the pass over them, but the bits
// of a row are those of the row alone. The caches must have these heads and dim.
// It panics on an N below 1 or beyond the capacity.
func Attend(p *parallel.Pool, dst, q []float32, qStride int, heads, dim int, scale float32, spans []Span, s *Scratch) {
	checkSpans(dst, q, qStride, heads, dim, spans)
	if s == nil {
		s = new(Scratch)
	}
	j := &s.job
	*j = attendJob{
		scratch: s, dst: dst, q: q, qStride: qStride,
		heads: heads, dim: dim, scale: scale, spans: spans, ranges: j.ranges[:0],
	}
	j.cut()
	p.Run(heads*len(j.ranges), j)
	*j = attendJob{ranges: j.ranges[:0]} // keep no reference to the caller's memory
}

// AttendWeights sets dst to the weights e[j]/t of one head, as [Attend] defines
// them; q is as there. dst is [len(spans)][N]; all spans must have the same N.
func AttendWeights(dst, q []float32, qStride, head, dim int, scale float32, spans []Span, s *Scratch) {
	if s == nil {
		s = new(Scratch)
	}
	j := attendJob{q: q, qStride: qStride, dim: dim, scale: scale, spans: spans}
	j.cut()
	b := s.get()
	defer s.put(b)
	for _, span := range spans {
		if n := spans[0].N; span.N != n || n < 1 || n > span.K.capacity || dim != span.K.dim || head >= span.K.heads {
			panic("kernel: AttendWeights with spans that do not fit")
		}
	}
	for _, rows := range j.ranges {
		step := j.rowsAtOnce(rows)
		for lo := rows.lo; lo < rows.hi; lo += step {
			tile := rowRange{lo, min(lo+step, rows.hi)}
			j.score(b, head, tile)
			j.exponents(b, tile)
			for r := range tile.rows() {
				n := spans[lo].N
				use.vector.div(dst[(lo+r)*n:][:n], b.scores[r*b.stride:][:n], b.sums[r])
			}
		}
	}
}

// checkSpans panics if Attend's arguments do not fit each other.
func checkSpans(dst, q []float32, qStride, heads, dim int, spans []Span) {
	rows := len(spans)
	if rows == 0 {
		return
	}
	if len(dst) < rows*heads*dim || len(q) < (rows-1)*qStride+heads*dim || qStride < heads*dim && rows > 1 {
		panic("kernel: Attend with too short a slice")
	}
	for _, s := range spans {
		if s.K.heads != heads || s.K.dim != dim || s.V.heads != heads || s.V.dim != dim {
			panic("kernel: Attend with caches of another shape")
		}
		if s.K.isInt8() != s.V.isInt8() {
			panic("kernel: Attend with caches of which one is int8")
		}
		if s.N < 1 || s.N > s.K.capacity || s.N > s.V.capacity {
			panic("kernel: Attend beyond the cache")
		}
	}
}

// get returns a buffer nobody else uses.
func (s *Scratch) get() *attendBuffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return new(attendBuffer)
	}
	b := s.free[n-1]
	s.free = s.free[:n-1]
	return b
}

func (s *Scratch) put(b *attendBuffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, b)
}
