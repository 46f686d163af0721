package kernel

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/parallel"
	"verity/precision"
)

// TestMatMulKV compares with a product followed by Set: several caches, places out of
// order, heads across panels, and outputs besides keys and values.
func TestMatMulKV(t *testing.T) {
	forSets(t, func(t *testing.T) {
		pool := parallel.New(2)
		defer pool.Close()
		rng := rand.New(rand.NewPCG(5, 6))
		for _, shape := range []struct{ rest, heads, dim, in, rows int }{
			{0, 1, 1, 1, 1}, {0, 2, 64, 20, 200}, {64, 2, 64, 8, 193}, {128, 2, 64, 9, 7}, {24, 3, 8, 24, 70}, {5, 5, 27, 30, 33}, {70, 1, 100, 8, 193}, {0, 2, 24, 5, 6},
		} {
			for _, store := range append(floatTypes, precision.Int8) {
				for _, cache := range cacheTypes {
					out := shape.rest + 2*shape.heads*shape.dim
					p := newProduct(t, rng, uniform(rng), shape.rows, shape.in, out, store)
					name := fmt.Sprintf("%+v %v into %v", shape, store, cache)
					testMatMulKV(t, pool, rng, p, shape.rest, shape.heads, shape.dim, cache, name)
				}
			}
		}
	})
}

func testMatMulKV(t *testing.T, pool *parallel.Pool, rng *rand.Rand, p *product, rest, heads, dim int, cache precision.Format, name string) {
	t.Helper()
	const caches = 2
	var got, want [caches]Slot
	for i := range caches {
		got[i] = Slot{K: NewKeys(heads, dim, p.rows+3, cache), V: NewValues(heads, dim, p.rows+3, cache)}
		want[i] = Slot{K: NewKeys(heads, dim, p.rows+3, cache), V: NewValues(heads, dim, p.rows+3, cache)}
	}
	all := make([]float32, p.rows*p.w.out)
	MatMul(pool, all, p.x, p.rows, p.stride, p.w, p.bias, Store)
	places, dst := make([]Slot, p.rows), make([]float32, p.rows*rest)
	for r, pos := range rng.Perm(p.rows + 3)[:p.rows] {
		if rng.IntN(2) == 0 || p.rows > 60 {
			pos = r // in runs
		}
		c := r * caches / p.rows
		if taken(places[:r], got[c].K, pos) {
			pos = freePlace(places[:r], got[c].K)
		}
		places[r] = Slot{got[c].K, got[c].V, pos}
		row := all[r*p.w.out+rest:]
		want[c].K.Set(nil, pos, 1, row, heads*dim)
		want[c].V.Set(nil, pos, 1, row[heads*dim:], heads*dim)
	}
	var keep RoundedRows
	MatMulKV(pool, dst, places, p.x, p.stride, p.w, p.bias, &keep)
	if p.store == precision.Int8 { // once more, from what is kept alone
		MatMulKV(pool, dst, places, make([]float32, len(p.x)), p.stride, p.w, p.bias, &keep)
	}
	for r := range p.rows {
		checkSame(t, dst[r*rest:][:rest], all[r*p.w.out:][:rest], name)
	}
	for i := range caches {
		sameStore(t, &got[i].K.store, &want[i].K.store, name+" keys")
		sameStore(t, &got[i].V.store, &want[i].V.store, name+" values")
		checkSame(t, got[i].K.scale, want[i].K.scale, name+" scales of keys")
		checkSame(t, got[i].V.scale, want[i].V.scale, name+" scales of values")
	}
}

func taken(places []Slot, k *Keys, pos int) bool {
	for _, p := range places {
		if p.K == k && p.Pos == pos {
			return true
		}
	}
	return false
}

func freePlace(places []Slot, k *Keys) int {
	pos := 0
	for taken(places, k, pos) {
		pos++
	}
	return pos
}

func sameStore(t *testing.T, got, want *store, name string) {
	t.Helper()
	if want.format == precision.F32 { // of which NaN may differ in its payload
		checkSame(t, view[float32](got.data), view[float32](want.data), name)
	} else if !bytes.Equal(got.data, want.data) {
		t.Fatalf("%s: other bytes", name)
	}
}

func TestMatMulKVRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	p := newProduct(t, rng, uniform(rng), 2, 4, 10, precision.F32)
	k, v := NewKeys(1, 4, 3, precision.F32), NewValues(1, 4, 3, precision.F32)
	for _, tt := range []struct {
		why    string
		dst    int
		places []Slot
	}{
		{"before the cache", 4, []Slot{{k, v, -1}}},
		{"behind the cache", 4, []Slot{{k, v, 2}, {k, v, 3}}},
		{"no room for the rest", 1, []Slot{{k, v, 0}}},
		{"more keys than outputs", 4, []Slot{{NewKeys(2, 4, 3, precision.F32), NewValues(2, 4, 3, precision.F32), 0}}},
		{"values of another shape", 4, []Slot{{k, NewValues(2, 2, 3, precision.F32), 0}}},
		{"too few activations", 6, []Slot{{k, v, 0}, {k, v, 1}, {k, v, 2}, {k, v, 0}, {k, v, 1}, {k, v, 2}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", tt.why)
				}
			}()
			MatMulKV(nil, make([]float32, tt.dst), tt.places, p.x, p.stride, p.w, nil, nil)
		}()
	}
}
