package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// cacheTypes are those that keys and values are stored as.
var cacheTypes = []precision.Format{precision.F32, precision.F16, precision.Int8}

// An attention is a test case: the arguments of a call of Attend.
type attention struct {
	heads, dim int
	scale      float32
	dtype      precision.Format
	n          []int // keys of each row
	cache      []int // which of the caches each row has
	qStride    int
	q          []float32
	k, v       [][]float32 // per cache [positions][heads·dim]
}

// newAttention returns a test case. If ragged is set, rows have different N. caches is
// the number of different caches.
func newAttention(rng *rand.Rand, heads, dim, rows, n int, d precision.Format, ragged bool, caches int) *attention {
	a := &attention{heads: heads, dim: dim, dtype: d, scale: float32(1 / math.Sqrt(float64(dim)))}
	width := heads * dim
	a.qStride = width + rng.IntN(2)*7
	a.q = make([]float32, rows*a.qStride)
	for i := range a.q {
		a.q[i] = float32(rng.NormFloat64()) * 3
	}
	for range caches {
		k, v := make([]float32, n*width), make([]float32, n*width)
		for i := range k {
			k[i], v[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		a.k, a.v = append(a.k, k), append(a.v, v)
	}
	for r := range rows {
		a.n, a.cache = append(a.n, n), append(a.cache, r*caches/rows)
		if ragged {
			a.n[r] = max(1, n-rows+1+r)
			if rng.IntN(4) == 0 {
				a.n[r] = 1 + rng.IntN(n)
			}
		}
	}
	return a
}

// spans fills caches, with junk beyond the last key.
func (a *attention) spans(p *parallel.Pool) []Span {
	width := a.heads * a.dim
	var ks []*Keys
	var vs []*Values
	for i := range a.k {
		n := len(a.k[i]) / width
		capacity := n + 5
		k, v := NewKeys(a.heads, a.dim, capacity, a.dtype), NewValues(a.heads, a.dim, capacity, a.dtype)
		junk := make([]float32, 5*width)
		for i := range junk {
			junk[i] = nan
		}
		k.Set(p, n, 5, junk, width)
		v.Set(p, n, 5, junk, width)
		k.Set(p, 0, n, a.k[i], width)
		v.Set(p, 0, n, a.v[i], width)
		ks, vs = append(ks, k), append(vs, v)
	}
	spans := make([]Span, len(a.n))
	for r := range spans {
		spans[r] = Span{ks[a.cache[r]], vs[a.cache[r]], a.n[r]}
	}
	return spans
}

func (a *attention) run(p *parallel.Pool, s *Scratch) guarded {
	dst := newGuarded(len(a.n) * a.heads * a.dim)
	Attend(p, dst.x, a.q, a.qStride, a.heads, a.dim, a.scale, a.spans(p), s)
	return dst
}

// stored returns x as the cache gives it back.
func (a *attention) stored(x float32) float32 {
	if a.dtype == precision.F16 {
		return tensor.F16ToFloat32(tensor.F16Bits(x))
	}
	return x
}

// plain is the definition in the doc of Attend, line by line, for one row and
// head.
func (a *attention) plain(r, h int) []float32 {
	if a.dtype == precision.Int8 {
		return a.plainInt8(r, h)
	}
	n, width := a.n[r], a.heads*a.dim
	k, v := a.k[a.cache[r]], a.v[a.cache[r]]
	e := make([]float32, n)
	for j := range e {
		for d := range a.dim {
			q := float32(a.q[r*a.qStride+h*a.dim+d] * a.scale)
			e[j] = fma(q, a.stored(k[j*width+h*a.dim+d]), e[j])
		}
	}
	m := slices.Max(e)
	var sum partials
	for j := range e {
		e[j] = Exp(e[j] - m)
		sum[j%16] += e[j]
	}
	total := sum.sum()
	out := make([]float32, a.dim)
	for c := range out {
		for j := range e {
			out[c] = fma(e[j], a.stored(v[j*width+h*a.dim+c]), out[c])
		}
		out[c] /= total
	}
	return out
}

// exact is plain in float64, with a bound for the error of plain.
//
// With u = 2⁻²⁴, A = Σ|q'k| and B = Σ|pv|: scaling and a chain of dim fma put
// (dim+1)·u·A on a score; a relative error of that, twice (score and maximum),
// plus the subtraction, 2u of Exp and the sum of n in partials comes on each
// weight; a chain of n fma adds n·u·B. All to first order, times 1.1.
func (a *attention) exact(r, h int) (out, bound []float64) {
	n, width := a.n[r], a.heads*a.dim
	k, v := a.k[a.cache[r]], a.v[a.cache[r]]
	e := make([]float64, n)
	m, worst := math.Inf(-1), 0.0
	for j := range e {
		size := 0.0
		for d := range a.dim {
			x := float64(a.q[r*a.qStride+h*a.dim+d]) * float64(a.scale) * float64(a.stored(k[j*width+h*a.dim+d]))
			e[j] += x
			size += math.Abs(x)
		}
		m, worst = max(m, e[j]), max(worst, size)
	}
	sum := 0.0
	for j := range e {
		e[j] = math.Exp(e[j] - m)
		sum += e[j]
	}
	const u = 0x1p-24
	weight := u * (2*float64(a.dim+1)*worst + 2*worst + 4 + float64(n)/16 + 4)
	for c := range a.dim {
		o, size := 0.0, 0.0
		for j := range e {
			x := e[j] / sum * float64(a.stored(v[j*width+h*a.dim+c]))
			o += x
			size += math.Abs(x)
		}
		out = append(out, o)
		bound = append(bound, 1.1*size*(2*weight+u*float64(n+1)))
	}
	return out, bound
}

// TestAttend checks every implementation, bit by bit, against the definition
// followed for each row alone, and that against float64.
func TestAttend(t *testing.T) {
	tests := []struct{ heads, dim, rows, n int }{
		{1, 64, 1, 1}, {2, 64, 1, 63}, {2, 64, 1, 64}, {2, 64, 1, 65}, {1, 64, 6, 200}, {1, 64, 7, 130},
		{3, 32, 5, 17}, {3, 24, 4, 50}, {2, 40, 3, 100}, {5, 1, 2, 33}, {1, 80, 3, 40}, {1, 16, 9, 31},
		{1, 8, 60, 75}, {2, 32, 25, 129}, {1, 64, 100, 330}, {1, 32, 2, 1500},
	}
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, tt := range tests {
			for _, d := range cacheTypes {
				for _, ragged := range []bool{false, true} {
					a := newAttention(rng, tt.heads, tt.dim, tt.rows, tt.n, d, ragged, 1+rng.IntN(2))
					checkAttention(t, a, use.name == "ref" && d != precision.Int8)
				}
			}
		}
	})
}

// checkAttention compares Attend for 1 … 3 threads with the plain definition, and
// that with float64 if accurate is set.
func checkAttention(t *testing.T, a *attention, accurate bool) {
	t.Helper()
	what := fmt.Sprintf("heads=%d dim=%d %v n=%v caches=%v", a.heads, a.dim, a.dtype, a.n, a.cache)
	want := newGuarded(len(a.n) * a.heads * a.dim)
	for r := range a.n {
		for h := range a.heads {
			got := want.x[(r*a.heads+h)*a.dim:][:a.dim]
			copy(got, a.plain(r, h))
			if !accurate {
				continue
			}
			exact, bound := a.exact(r, h)
			for c := range got {
				if diff := math.Abs(float64(got[c]) - exact[c]); !(diff <= bound[c]) {
					t.Fatalf("%s: row %d head %d: [%d] = %v, exact %v, bound %.2g", what, r, h, c, got[c], exact[c], bound[c])
				}
			}
		}
	}
	var s Scratch
	for _, threads := range []int{1, 2, 3} {
		p := parallel.New(threads)
		compare(t, fmt.Sprintf("%s threads=%d", what, threads), a.run(p, &s), want)
		p.Close()
	}
}

// TestAttendEveryLength goes through all remainders of a panel.
func TestAttendEveryLength(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := 1; n <= 200; n++ {
			d := cacheTypes[n%3]
			a := newAttention(rng, 1, 8, 1+n%7, n, d, n%5 == 0, 1)
			var s Scratch
			got := a.run(nil, &s)
			for r := range a.n {
				want := a.plain(r, 0)
				for c, w := range want {
					if g := got.x[r*8+c]; !sameBits(g, w) {
						t.Fatalf("n=%v row %d: [%d] = %v, want the bits of %v", a.n, r, c, g, w)
					}
				}
			}
		}
	})
}

func TestAttendWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	a := newAttention(rng, 3, 24, 4, 70, precision.F16, false, 2)
	spans := a.spans(nil)
	got := newGuarded(4 * 70)
	AttendWeights(got.x, a.q, a.qStride, 1, a.dim, a.scale, spans, nil)
	if !got.intact() {
		t.Fatal("wrote outside of dst")
	}
	// The weighted values are what Attend returns, up to the division's place.
	want := a.plain(2, 1)
	for c, w := range want {
		sum := 0.0
		for j := range 70 {
			sum += float64(got.x[2*70+j]) * float64(a.stored(a.v[a.cache[2]][j*72+24+c]))
		}
		if !(math.Abs(sum-float64(w)) <= 1e-5) {
			t.Errorf("Σ weights·V[%d] = %v, Attend has %v", c, sum, w)
		}
	}
}

// TestAttendWeightsByRow: those of many rows are those of each alone.
func TestAttendWeightsByRow(t *testing.T) {
	forSets(t, func(t *testing.T) {
		for _, d := range cacheTypes {
			const rows, n = 45, 130
			a := newAttention(rand.New(rand.NewPCG(9, 10)), 2, 64, rows, n, d, false, 2)
			spans := a.spans(nil)
			got := newGuarded(rows * n)
			AttendWeights(got.x, a.q, a.qStride, 1, a.dim, a.scale, spans, nil)
			want := newGuarded(rows * n)
			for r := range rows {
				AttendWeights(want.x[r*n:][:n], a.q[r*a.qStride:], a.qStride, 1, a.dim, a.scale, spans[r:r+1], nil)
			}
			compare(t, fmt.Sprint(d), got, want)
		}
	})
}

// TestCopyPrefix attends to a copy, of another capacity.
func TestCopyPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, d := range cacheTypes {
		a := newAttention(rng, 2, 24, 3, 90, d, false, 1)
		spans := a.spans(nil)
		k, v := NewKeys(2, 24, 300, d), NewValues(2, 24, 300, d)
		k.CopyPrefix(spans[0].K, 67)
		v.CopyPrefix(spans[0].V, 67)
		var got, want [3 * 48]float32
		for r := range spans {
			spans[r].N = 67
		}
		Attend(nil, want[:], a.q, a.qStride, 2, 24, a.scale, spans, nil)
		for r := range spans {
			spans[r].K, spans[r].V = k, v
		}
		Attend(nil, got[:], a.q, a.qStride, 2, 24, a.scale, spans, nil)
		if got != want {
			t.Errorf("%v: attention to the copy differs", d)
		}
	}
}

func TestAttendAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	p := parallel.New(2)
	defer p.Close()
	for _, d := range cacheTypes {
		a := newAttention(rng, 4, 64, 6, 100, d, true, 1)
		spans, dst := a.spans(p), make([]float32, 6*256)
		var s Scratch
		run := func() {
			spans[0].K.Set(p, 7, 1, a.q, a.qStride)
			spans[0].V.Set(p, 7, 1, a.q, a.qStride)
			Attend(p, dst, a.q, a.qStride, 4, 64, a.scale, spans, &s)
		}
		for range 20 { // until both threads have met
			run()
		}
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%v: Attend allocates %v times", d, n)
		}
	}
}
