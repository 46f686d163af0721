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

var floatTypes = []precision.Format{precision.F32, precision.F16}

// fileTypes are the types of weights in files.
var fileTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

// A product is a call of MatMul and what it must give.
type product struct {
	rows, in, out, stride int
	store                 precision.Format
	e                     Epilogue
	x, weights, bias, old []float32
	w                     *Matrix
}

func newProduct(t testing.TB, rng *rand.Rand, next func() float32, rows, in, out int, store precision.Format) *product {
	t.Helper()
	p := &product{rows: rows, in: in, out: out, store: store}
	p.stride = max(0, in+int(rng.Uint32()%9)-4) // apart or overlapping
	p.e = Epilogue(rng.Uint32() % 3)
	p.x = poisoned((rows-1)*p.stride+in, next)
	if rng.Uint32()%4 > 0 {
		p.bias = poisoned(out, next)
	}
	p.old = poisoned(rows*out, next)
	source := tensor.F16
	if store != precision.F16 {
		source = fileTypes[rng.Uint32()%3]
	}
	limit := map[tensor.DType]float64{tensor.F32: math.Inf(1), tensor.F16: 60000, tensor.BF16: 1e30}
	if store == precision.Int8 {
		limit[tensor.F32] = 1e30
	}
	w := tensor.Convert(poisoned(out*in, func() float32 {
		if v := next(); math.Abs(float64(v)) <= limit[source] {
			return v
		}
		return 1
	}), source, out, in)
	p.weights = w.Float32()
	var err error
	if p.w, err = Pack(store, w); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *product) String() string {
	return fmt.Sprintf("%d×%d×%d %v stride %d epilogue %d", p.rows, p.in, p.out, p.store, p.stride, p.e)
}

// run returns what MatMul gives for rows lo … hi-1.
func (p *product) run(t testing.TB, pool *parallel.Pool, lo, hi int) []float32 {
	t.Helper()
	i := lo * p.out
	dst, check := canaried((hi-lo)*p.out, func() float32 { i++; return p.old[i-1] })
	MatMul(pool, dst, p.x[lo*p.stride:], hi-lo, p.stride, p.w, p.bias, p.e)
	check(t)
	return dst
}

// want is the definition of MatMul.
func (p *product) want() []float32 {
	dst := append([]float32{}, p.old...)
	element := p.element
	if p.store == precision.Int8 {
		element = p.elementInt8()
	}
	for r := range p.rows {
		for o := range p.out {
			acc := element(r, o)
			if p.bias != nil {
				acc += p.bias[o]
			}
			if p.e == StoreAdd {
				acc += dst[r*p.out+o]
			}
			dst[r*p.out+o] = acc
		}
	}
	if p.e == StoreGELU {
		geluRow(dst)
	}
	return dst
}

func (p *product) element(r, o int) float32 {
	acc := float32(0)
	for k := range p.in {
		acc = fma(p.x[r*p.stride+k], p.weights[o*p.in+k], acc)
	}
	return acc
}

func TestMatMul(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, in := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 66} {
			for _, out := range []int{0, 1, 7, 8, 15, 16, 17, 33, 63, 64, 65, 130} {
				rows := 1 + int(rng.Uint32()%20)
				for _, store := range floatTypes {
					next := uniform(rng)
					if rng.Uint32()%3 == 0 {
						next = wild(rng)
					}
					p := newProduct(t, rng, next, rows, in, out, store)
					checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
				}
			}
		}
	})
}

// Every number of rows up to three groups, and one past the rows of a unit.
func TestMatMulRows(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for rows := range maxRows + 2 {
			if rows > manyRows+1 && rows < maxRows-1 {
				continue
			}
			for _, store := range floatTypes {
				p := newProduct(t, rng, wild(rng), max(rows, 1), 21, 70, store)
				checkSame(t, p.run(t, nil, 0, rows), p.want()[:rows*p.out], p.String())
			}
		}
	})
}

// Sums that are stored and taken up again after maxDepth products.
func TestMatMulDeep(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, in := range []int{maxDepth - 1, maxDepth, maxDepth + 1, 2*maxDepth + 3} {
			for _, rows := range []int{1, 6, 7, manyRows - 1, manyRows, wideRows - 1, wideRows} {
				for _, store := range floatTypes {
					p := newProduct(t, rng, uniform(rng), rows, in, 65, store)
					checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
				}
			}
		}
	})
}

// The bits of a row depend neither on its neighbours nor on the number of threads.
func TestMatMulRowsAlone(t *testing.T) {
	pools := []*parallel.Pool{nil}
	for n := 1; n <= 3; n++ {
		pool := parallel.New(n)
		defer pool.Close()
		pools = append(pools, pool)
	}
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, store := range floatTypes {
			p := newProduct(t, rng, wild(rng), 30, 300, 200, store)
			want := p.run(t, nil, 0, p.rows)
			for n, pool := range pools {
				checkSame(t, p.run(t, pool, 0, p.rows), want, fmt.Sprint(p, ", threads: ", n))
			}
			for r := range p.rows {
				checkSame(t, p.run(t, pools[2], r, r+1), want[r*p.out:][:p.out], fmt.Sprint(p, ", row ", r))
			}
		}
	})
}

// A chain of n roundings is off by at most γ = n·u/(1-n·u) times the sum of the
// magnitudes, u = 2⁻²⁴ (Higham, Accuracy and Stability, 2nd ed., §3.1). The
// comparison is in float64: products are exact there, sums off by 2⁻⁵³ each.
func TestMatMulExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, in := range []int{1, 10, 300, 5120} {
		p := newProduct(t, rng, uniform(rng), 3, in, 20, precision.F32)
		p.e, p.bias = Store, nil
		for i, got := range p.run(t, nil, 0, p.rows) {
			var sum, size float64
			for k := range in {
				v := float64(p.x[i/p.out*p.stride+k]) * float64(p.weights[i%p.out*in+k])
				sum, size = sum+v, size+math.Abs(v)
			}
			nu := float64(in) * 0x1p-24
			bound := size * (nu/(1-nu) + float64(in)*0x1p-53)
			if diff := math.Abs(float64(got) - sum); !(diff <= bound) {
				t.Fatalf("%v: element %d = %v, exact %v, bound %.2g", p, i, got, sum, bound)
			}
		}
	}
}

// A product that underflows from below is -0, and without a bias stays it.
func TestMatMulNegativeZero(t *testing.T) {
	forSets(t, func(t *testing.T) {
		for _, out := range []int{1, 64} {
			weights := slices.Repeat([]float32{0x1p-100}, out)
			w, err := Pack(precision.F32, tensor.FromFloat32(weights, out, 1))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, out)
			MatMul(nil, got, []float32{-0x1p-100}, 1, 1, w, nil, Store)
			checkSame(t, got, slices.Repeat([]float32{negativeZero}, out), "-0x1p-200")
			MatMul(nil, got, []float32{-0x1p-100}, 1, 1, w, make([]float32, out), Store)
			checkSame(t, got, make([]float32, out), "-0x1p-200 + 0")
		}
	})
}

func TestMatMulTooShort(t *testing.T) {
	w, err := Pack(precision.F32, tensor.FromFloat32(make([]float32, 6), 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	long := make([]float32, 20) // slices of it could be extended
	for _, tt := range []struct {
		why          string
		dst, x, bias int
		panics       bool
	}{
		{"all long enough", 4, 7, 2, false},
		{"dst", 3, 7, 2, true},
		{"x", 4, 6, 2, true},
		{"bias", 4, 7, 1, true},
	} {
		func() {
			defer func() {
				if got := recover() != nil; got != tt.panics {
					t.Errorf("%s: panics %t, want %t", tt.why, got, tt.panics)
				}
			}()
			MatMul(nil, long[:tt.dst], long[10:10+tt.x], 2, 4, w, make([]float32, 9)[:tt.bias], Store)
		}()
	}
}

func TestMatMulAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("needs a run without the race detector: it makes sync.Pool forgetful")
	}
	pool := parallel.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(11, 12))
	forSets(t, func(t *testing.T) {
		for i, rows := range []int{1, 8, 100, 1, 100} {
			store := precision.F16
			if i > 2 {
				store = precision.Int8
			}
			p := newProduct(t, rng, uniform(rng), rows, 64, 300, store)
			dst := make([]float32, rows*p.out)
			n := testing.AllocsPerRun(10, func() { MatMul(pool, dst, p.x, rows, p.stride, p.w, p.bias, Store) })
			if n >= 1 { // a collection may empty the pools of scratch now and then
				t.Errorf("%d rows of %s: MatMul allocates %v times", rows, store, n)
			}
		}
	})
}

func FuzzMatMul(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint16(7), uint16(65))
	f.Add(uint64(2), uint8(30), uint16(260), uint16(1))
	f.Add(uint64(3), uint8(5), uint16(33), uint16(64))
	f.Fuzz(func(t *testing.T, seed uint64, rows uint8, in, out uint16) {
		rng := rand.New(rand.NewPCG(seed, 0))
		store := []precision.Format{precision.F32, precision.F16, precision.Int8}[seed%3]
		p := newProduct(t, rng, wild(rng), 1+int(rows)%40, int(in)%300, int(out)%200, store)
		want := p.want()
		defer func(saved set) { use = saved }(use)
		for _, use = range sets {
			if use.ok {
				checkSame(t, p.run(t, nil, 0, p.rows), want, fmt.Sprint(use.name, " ", p))
			}
		}
	})
}
