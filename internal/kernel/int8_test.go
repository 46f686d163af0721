package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"verity/parallel"
	"verity/precision"
)

// int8Exact rounds x to int8 as MatMul and Pack say.
func int8Exact(x []float32) (q []int64, scale float32) {
	largest := 0.0
	for _, v := range x {
		if v-v != 0 {
			return make([]int64, len(x)), float32(math.NaN())
		}
		largest = max(largest, math.Abs(float64(v)))
	}
	q = make([]int64, len(x))
	if largest < 0x1p-100 {
		return q, 0
	}
	inverse := 127 / float32(largest)
	for i, v := range x {
		q[i] = int64(math.RoundToEven(float64(v * inverse)))
	}
	return q, float32(largest) / 127
}

// elementInt8 returns the function that computes one element before the bias.
func (p *product) elementInt8() func(r, o int) float32 {
	type row struct {
		q     []int64
		scale float32
	}
	ws, xs := make([]row, p.out), make([]row, p.rows)
	for o := range ws {
		ws[o].q, ws[o].scale = int8Exact(p.weights[o*p.in:][:p.in])
	}
	for r := range xs {
		xs[r].q, xs[r].scale = int8Exact(p.x[r*p.stride:][:p.in])
	}
	return func(r, o int) float32 {
		sum := int64(0)
		for k, q := range xs[r].q {
			sum += q * ws[o].q[k]
		}
		return float32(float32(sum) * float32(xs[r].scale*ws[o].scale))
	}
}

func TestInt8(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, in := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 130} {
			for _, out := range []int{0, 1, 8, 16, 17, 63, 64, 65, 130} {
				next := uniform(rng)
				if rng.Uint32()%2 == 0 {
					next = wild(rng)
				}
				p := newProduct(t, rng, next, 1+int(rng.Uint32()%20), in, out, precision.Int8)
				checkSame(t, p.run(t, nil, 0, p.rows), p.want(), p.String())
			}
		}
	})
}

func TestInt8Rows(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 24))
		for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, maxRows, maxRows + 1} {
			p := newProduct(t, rng, uniform(rng), rows, 70, 65, precision.Int8)
			checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
		}
		// Tiles of 16 rows and 64 k, in groups of 32 rows: every remainder of both.
		for _, in := range []int{63, 64, 65, 127, 128, 200} {
			for rows := manyRows; rows < manyRows+34; rows += 1 + int(rng.Uint32()%3) {
				p := newProduct(t, rng, wild(rng), rows, in, 65, precision.Int8)
				checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
			}
		}
		// Remainders of few rows, deep enough for more than one block.
		for _, rows := range []int{32 + 5, 32 + 9, 64 + 17} {
			p := newProduct(t, rng, uniform(rng), rows, maxInt8Depth+200, 65, precision.Int8)
			checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
		}
	})
}

// Sums taken up again after maxInt8Depth products, and the largest there are.
func TestInt8Deep(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(25, 26))
		for _, next := range []func() float32{uniform(rng), func() float32 { return 1 }, func() float32 { return -1 }} {
			for _, in := range []int{maxInt8Depth - 1, maxInt8Depth + 1, 2*maxInt8Depth + 3} {
				for _, rows := range []int{1, 7, 33} {
					p := newProduct(t, rng, next, rows, in, 65, precision.Int8)
					checkSame(t, p.run(t, nil, 0, rows), p.want(), p.String())
				}
			}
		}
	})
}

func TestInt8RowsAlone(t *testing.T) {
	pool := parallel.New(3)
	defer pool.Close()
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(27, 28))
		p := newProduct(t, rng, wild(rng), 50, 300, 200, precision.Int8)
		want := p.run(t, nil, 0, p.rows)
		checkSame(t, p.run(t, pool, 0, p.rows), want, "three threads")
		for r := range p.rows {
			checkSame(t, p.run(t, pool, r, r+1), want[r*p.out:][:p.out], fmt.Sprint(p, ", row ", r))
		}
	})
}

// Rounding to nearest is off by at most half a unit of each factor, a unit being
// the largest magnitude over 127: Σ|x·w - x'·w'| ≤ Σ (|x|·sw + |w|·sx)/2 + sx·sw/4,
// and a few roundings in float32 besides.
func TestInt8Exact(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	p := newProduct(t, rng, uniform(rng), 5, 300, 70, precision.Int8)
	p.e, p.bias = Store, nil
	for i, got := range p.run(t, nil, 0, p.rows) {
		x, w := p.x[i/p.out*p.stride:][:p.in], p.weights[i%p.out*p.in:][:p.in]
		_, sx := int8Exact(x)
		_, sw := int8Exact(w)
		var exact, bound float64
		for k := range x {
			exact += float64(x[k]) * float64(w[k])
			bound += (math.Abs(float64(x[k]))*float64(sw)+math.Abs(float64(w[k]))*float64(sx))/2 + float64(sx)*float64(sw)/4
		}
		bound += (math.Abs(exact) + bound) * 8 * 0x1p-24
		if diff := math.Abs(float64(got) - exact); !(diff <= bound) {
			t.Fatalf("%v: element %d = %v, exact %v, bound %.2g", p, i, got, exact, bound)
		}
	}
}

// Both factors are as small as the scale allows, or just below that: zero.
func TestInt8Small(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		for _, size := range []float32{0x1p-100, 0x1.fffffep-101, 0x1p-63} {
			p := newProduct(t, rng, func() float32 { return size }, 2, 5, 64, precision.Int8)
			checkSame(t, p.run(t, nil, 0, p.rows), p.want(), p.String())
		}
	})
	for _, m := range []float32{0x1p-100, 1, math.MaxFloat32} {
		inverse, scale := int8Scale(math.Float32bits(m))
		if q := roundInt8(m, inverse); q != 127 || !(math.Abs(float64(scale)*127/float64(m)-1) < 0x1p-23) {
			t.Errorf("%g becomes %d units of %g", m, q, scale)
		}
	}
	if inverse, scale := int8Scale(math.Float32bits(0x1.fffffep-101)); inverse != 0 || scale != 0 {
		t.Errorf("just below 2⁻¹⁰⁰: inverse %g, scale %g, want zeros", inverse, scale)
	}
}

func TestMaxAbs(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		for n := range 70 {
			x := poisoned(n, uniform(rng))
			for i := range x {
				for _, v := range []float32{1.5, -2, 0x1p-149, inf, -inf, nan} {
					saved := x[i]
					x[i] = v
					if got, want := use.int8s.maxAbs(x), maxAbsRef(x); got != want {
						t.Fatalf("maxAbs of %d with %v at %d = %#x, want %#x", n, v, i, got, want)
					}
					x[i] = saved
				}
			}
		}
	})
}

// Every half between two integers, and its neighbours.
func TestQuantise(t *testing.T) {
	var x []float32
	for i := -127; i < 127; i++ {
		half := float32(i) + 0.5
		x = append(x, float32(i), half, math.Nextafter32(half, -200), math.Nextafter32(half, 200))
	}
	x = append(x, 127, -127, math.Nextafter32(127.5, 0), math.Nextafter32(-127.5, 0))
	forSets(t, func(t *testing.T) {
		for n := range 40 {
			for _, part := range [][]float32{x[:n], x[len(x)-n:], x[n:]} {
				buf := make([]uint8, len(part)+2)
				use.int8s.quantise(buf[1:len(part)+1], part, 1)
				for i, v := range part {
					if got, want := int(int8(buf[i+1]-int8Zero)), int(math.RoundToEven(float64(v))); got != want {
						t.Fatalf("%v of %d values becomes %d, want %d", v, len(part), got, want)
					}
				}
				if buf[0] != 0 || buf[len(buf)-1] != 0 {
					t.Fatalf("quantise of %d values wrote outside", len(part))
				}
			}
		}
	})
}
