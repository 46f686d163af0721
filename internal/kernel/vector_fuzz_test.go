package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"verity/parallel"
)

// floats reads a guarded vector out of fuzz input.
func floats(data []byte) guarded {
	g := newGuarded(len(data) / 4)
	for i := range g.x {
		g.x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return g
}

// FuzzVector checks that every implementation of every vector function gives the
// bits of ref on any floats at all.
func FuzzVector(f *testing.F) {
	f.Add([]byte{}, float32(1))
	f.Add(make([]byte, 4*33), float32(0))
	f.Add(bytes.Repeat([]byte("\x00\x00\x80\x7f\x01\x02\x03\xc4\x05"), 4*2*Lanes/9+1), float32(2))
	f.Add([]byte("\x00\x00\xc0\x7f\x00\x00\x80\xff\x01\x00\x00\x80\xff\xff\x7f\x7f\x00\x00\xd0\xc2"), float32(-0.5))
	f.Fuzz(func(t *testing.T, data []byte, by float32) {
		x := floats(data)
		for _, s := range sets {
			if s.ok {
				fuzzVector(t, s.name, s.vector, x, by)
			}
		}
	})
}

func fuzzVector(t *testing.T, name string, ops vectorOps, x guarded, by float32) {
	inPlace := func(what string, f func(ops vectorOps, x []float32)) {
		got, want := x.clone(), x.clone()
		f(ops, got.x)
		f(vectorRef, want.x)
		compare(t, name+" "+what, got, want)
	}
	inPlace("add", func(ops vectorOps, y []float32) { ops.add(y, x.x) })
	inPlace("div", func(ops vectorOps, y []float32) { ops.div(y, y, by) })
	inPlace("gelu", func(ops vectorOps, y []float32) { ops.gelu(y) })
	if len(x.x) > 0 {
		inPlace("norm", func(ops vectorOps, y []float32) { ops.norm(y, y, x.x, x.x, by) })
	}
	m := ops.max(x.x)
	if want := maxRef(x.x); m != want && (m == m || want == want) {
		t.Fatalf("%s max = %v, ref %v", name, m, want)
	}
	inPlace("expSum", func(ops vectorOps, y []float32) {
		if sum := ops.expSum(y, y, m); len(y) > 0 {
			y[0] = sum
		}
	})
	inPlace("raise", func(ops vectorOps, y []float32) { ops.maxInto(y, x.x) })
	inPlace("dots", func(ops vectorOps, y []float32) {
		var sums [4]float32
		ops.dots(&sums, &[4][]float32{y, x.x, y, x.x}, &[4][]float32{x.x, x.x, y, y})
		copy(y, sums[:])
	})
}

// FuzzAttend checks Attend, for any shape, against its definition row by row.
func FuzzAttend(f *testing.F) {
	f.Add(uint64(1), uint8(1), uint8(64), uint8(1), uint8(70), uint8(1), false, uint8(1))
	f.Add(uint64(2), uint8(2), uint8(24), uint8(9), uint8(33), uint8(0), true, uint8(2))
	f.Add(uint64(3), uint8(3), uint8(1), uint8(30), uint8(200), uint8(1), true, uint8(3))
	f.Add(uint64(4), uint8(2), uint8(64), uint8(7), uint8(255), uint8(2), true, uint8(2))
	f.Add(uint64(5), uint8(1), uint8(70), uint8(3), uint8(66), uint8(2), false, uint8(1))
	pool := parallel.New(2)
	f.Cleanup(pool.Close)
	f.Fuzz(func(t *testing.T, seed uint64, heads, dim, rows, n, store uint8, ragged bool, caches uint8) {
		if heads == 0 || dim == 0 || rows == 0 || n == 0 || caches == 0 ||
			heads > 4 || dim > 100 || rows > 40 || caches > 4 || int(dim)*int(rows)*int(n) > 50000 {
			t.Skip("needs another input: too much or nothing")
		}
		d := cacheTypes[int(store)%len(cacheTypes)]
		rng := rand.New(rand.NewPCG(seed, 1))
		a := newAttention(rng, int(heads), int(dim), int(rows), int(n), d, ragged, min(int(caches), int(rows)))
		got := a.run(pool, nil)
		for r := range a.n {
			for h := range a.heads {
				for c, want := range a.plain(r, h) {
					if g := got.x[(r*a.heads+h)*a.dim+c]; !sameBits(g, want) {
						t.Fatalf("row %d head %d: [%d] = %v, want the bits of %v", r, h, c, g, want)
					}
				}
			}
		}
	})
}
