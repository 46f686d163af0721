package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/precision"
)

// plainInt8 is the definition for int8 in the doc of Attend, line by line, for one row
// and head.
func (a *attention) plainInt8(r, h int) []float32 {
	n, width := a.n[r], a.heads*a.dim
	head := func(x []float32, j int) ([]int64, float32) { return int8Exact(x[j*width+h*a.dim:][:a.dim]) }
	q, qs := int8Exact(a.q[r*a.qStride+h*a.dim:][:a.dim])
	qs = float32(qs * a.scale)
	e := make([]float32, n)
	for j := range e {
		k, ks := head(a.k[a.cache[r]], j)
		dot := int64(0)
		for d := range q {
			dot += q[d] * k[d]
		}
		e[j] = float32(dot) * float32(qs*ks)
	}
	m := slices.Max(e)
	var sum partials
	out := make([]float32, a.dim)
	for from := 0; from < n; from += 256 {
		block := e[from:min(from+256, n)]
		largest, values := float32(0), make([][]int64, len(block))
		for j := range block {
			e := Exp(block[j] - m)
			sum[j%16] += e
			var vs float32
			values[j], vs = head(a.v[a.cache[r]], from+j)
			block[j] = e * vs
			largest = max(largest, block[j])
		}
		inverse, unit := 255/largest, largest/255
		if largest < 0x1p-100 {
			inverse, unit = 0, 0
		}
		for c := range out {
			dot := int64(0)
			for j := range block {
				dot += int64(math.RoundToEven(float64(block[j]*inverse))) * values[j][c]
			}
			out[c] += float32(float32(dot) * unit)
		}
	}
	total := sum.sum()
	for c := range out {
		out[c] /= total
	}
	return out
}

func forAttendInt8s(t *testing.T, f func(t *testing.T, ops attendInt8Ops, rng *rand.Rand)) {
	forSets(t, func(t *testing.T) {
		f(t, use.attendInt8, rand.New(rand.NewPCG(41, 42)))
	})
}

func randomBytes(rng *rand.Rand, n int) []byte {
	x := make([]byte, n)
	for i := range x {
		x[i] = byte(rng.Uint32())
	}
	return x
}

func TestScoreInt8(t *testing.T) {
	forAttendInt8s(t, func(t *testing.T, ops attendInt8Ops, rng *rand.Rand) {
		for rows := range tileRows + 3 {
			for _, depth := range []int{4, 8, 12, 16, 20, 24, 36, 64, 100} {
				for _, panels := range []int{0, 1, 2, 5} {
					q, k := randomBytes(rng, rows*depth), randomBytes(rng, panels*panelKeys*depth)
					start := make([]int32, rows)
					for r := range start {
						start[r] = rng.Int32() - 1<<30
					}
					stride := panels*panelKeys + rng.IntN(20)
					qScale, kScale := random(rng, rows, fillers[0]), random(rng, panels*panelKeys, fillers[0])
					got := newGuarded(rows * stride)
					want := got.clone()
					scoreInt8Ref(scoreTile{want.x, stride, q, start, qScale.x, k, kScale.x, depth, rows, panels})
					ops.score(scoreTile{got.x, stride, q, start, qScale.x, k, kScale.x, depth, rows, panels})
					compare(t, fmt.Sprintf("%d rows of %d, %d panels, %d apart", rows, depth, panels, stride), got, want)
				}
			}
		}
	})
}

func TestWeights(t *testing.T) {
	forAttendInt8s(t, func(t *testing.T, ops attendInt8Ops, rng *rand.Rand) {
		for _, f := range fillers {
			for n := 0; n < 800; n += 1 + n/60 {
				blocks := (n + weightBlock - 1) / weightBlock
				x, scale := newGuarded((n+vectorLanes-1)&^(vectorLanes-1)), random(rng, n, fillers[0])
				for i := range n {
					x.x[i] = f.at(rng)
					scale.x[i] = max(scale.x[i], -scale.x[i])
				}
				if n > 0 {
					switch rng.IntN(6) {
					case 0:
						scale.x[rng.IntN(n)] = nan
					case 1:
						x.x[rng.IntN(n)] = nan
					case 2:
						clear(scale.x)
					}
				}
				y, m := x.clone(), vectorRef.max(x.x[:n])
				var row [weightBlock]float32
				dst, unit := randomBytes(rng, blocks*weightStep), random(rng, blocks*int8TileRows, fillers[0])
				wantDst, wantUnit := bytes.Clone(dst), unit.clone()
				sum, want := ops.weights(dst, unit.x, x.x[:n], scale.x, m, &row), weightsRef(wantDst, wantUnit.x, y.x[:n], scale.x, m, &row)
				what := fmt.Sprintf("%s: %d weights", f.name, n)
				compare(t, what, unit, wantUnit)
				for b := range blocks {
					if u := wantUnit.x[b*int8TileRows]; u != u { // nobody reads these
						clear(dst[b*weightStep:][:weightBlock])
						clear(wantDst[b*weightStep:][:weightBlock])
					}
				}
				if !sameBits(sum, want) || !bytes.Equal(dst, wantDst) || !x.intact() {
					t.Fatalf("%s: sum %v, want %v, or other bytes, or written outside", what, sum, want)
				}
			}
		}
	})
}

// The largest weight is 255, and every other is off by half a unit at most, as are
// halves between two integers. Those of the next block do not matter.
func TestWeightsRound(t *testing.T) {
	forAttendInt8s(t, func(t *testing.T, ops attendInt8Ops, rng *rand.Rand) {
		scale := make([]float32, 2*weightBlock) // Exp(0) is 1, so these are the weights
		for i := range weightBlock {
			scale[i] = float32(i)
			scale[weightBlock+i] = float32(i) * 1000
		}
		for i := 0; i < 255; i += 2 {
			scale[i] += 0.5
		}
		dst, unit := make([]byte, 2*weightStep), make([]float32, 2*int8TileRows)
		if sum := ops.weights(dst, unit, make([]float32, 2*weightBlock), scale, 0, new([weightBlock]float32)); sum != 2*weightBlock {
			t.Fatalf("sum %v, want %d", sum, 2*weightBlock)
		}
		for i, w := range scale {
			b := i / weightBlock
			if want := math.RoundToEven(float64(w) / math.Pow(1000, float64(b))); float64(dst[b*weightStep+i%weightBlock]) != want {
				t.Errorf("weight %v of block %d becomes %d, want %v", w, b, dst[b*weightStep+i%weightBlock], want)
			}
		}
		if unit[0] != 1 || unit[int8TileRows] != 1000 {
			t.Errorf("units %v and %v, want 1 and 1000", unit[0], unit[int8TileRows])
		}
	})
	for _, m := range []float32{0x1p-100, 1, 0.3, math.MaxFloat32} {
		inverse, scale := byteScale(math.Float32bits(m), 255)
		if u := roundInt8(m, inverse); u != 255 || !(math.Abs(float64(scale)*255/float64(m)-1) < 0x1p-23) {
			t.Errorf("%g becomes %d units of %g", m, u, scale)
		}
	}
}

func TestInterleaveBy4(t *testing.T) {
	forAttendInt8s(t, func(t *testing.T, ops attendInt8Ops, rng *rand.Rand) {
		x := [4 * panel]byte(randomBytes(rng, 4*panel))
		var got [3][4 * panel]byte // the first and the last are canaries
		ops.interleaveBy4(&got[1], &x)
		for i, v := range got[1] {
			if want := x[i%4*panel+i/4] - int8Zero; v != want {
				t.Fatalf("[%d][%d] = %d, want %d", i/4, i%4, v, want)
			}
		}
		if empty := [4 * panel]byte{}; got[0] != empty || got[2] != empty {
			t.Fatal("wrote outside")
		}
	})
}

func TestCentre(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for n := 0; n < 30_000; n += 4 + n/300*1000 {
		x := randomBytes(rng, n)
		for _, q := range [][]byte{x, bytes.Repeat([]byte{255}, n), make([]byte, n)} {
			want, sum := slices.Clone(q), int32(0)
			for i := range want {
				want[i] -= int8Zero
				sum += int32(int8(want[i]))
			}
			if start := centre(q); start != -int8Zero*sum || !bytes.Equal(q, want) {
				t.Fatalf("centre of %d: start %d, want %d", n, start, -int8Zero*sum)
			}
		}
	}
}

// NaN or infinity in a key or value that a row attends to makes the output of that row
// and head NaN, and nothing else. In a masked one it has no effect. Zeros have no scale,
// and give zeros.
func TestAttendInt8NotFinite(t *testing.T) {
	const heads, dim, rows, n = 3, 24, 4, 70
	inf := float32(math.Inf(1))
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(45, 46))
		a := newAttention(rng, heads, dim, rows, n, precision.Int8, false, 1)
		a.n = []int{n - 3, n - 2, n - 1, n}
		want := a.run(nil, nil)
		for _, v := range []float32{nan, inf, -inf} {
			for _, x := range [][]float32{a.q, a.k[0], a.v[0]} {
				at := (n-2)*heads*dim + dim + rng.IntN(dim) // the position before the last, head 1
				first := 2                                  // row that sees it
				if &x[0] == &a.q[0] {
					at, first = 3*a.qStride+dim+rng.IntN(dim), 3
				}
				saved := x[at]
				x[at] = v
				got := a.run(nil, nil)
				x[at] = saved
				for i := range got.x {
					bad := i/dim%heads == 1 && i/(dim*heads) >= first
					if isNaN := got.x[i] != got.x[i]; isNaN != bad || !bad && !sameBits(got.x[i], want.x[i]) {
						t.Fatalf("with %v at %d: row %d head %d [%d] = %v, before %v", v, at, i/(dim*heads), i/dim%heads, i%dim, got.x[i], want.x[i])
					}
				}
			}
		}
		clear(a.v[0])
		for i, v := range a.run(nil, nil).x {
			if v != 0 {
				t.Fatalf("of values of zero, [%d] = %v", i, v)
			}
		}
	})
}

// Buffers that another call has left, a NaN unit among them, do not affect a row that
// attends to fewer blocks of keys than its neighbours.
func TestAttendInt8Left(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(47, 48))
		a := newAttention(rng, 1, 8, 2, 600, precision.Int8, false, 1)
		a.n[0] = 100
		want := a.run(nil, nil)
		var s Scratch
		b := newAttention(rng, 1, 8, 2, 600, precision.Int8, false, 1)
		for i := range b.v[0] {
			b.v[0][i] = nan
		}
		b.run(nil, &s)
		compare(t, "after a call that gave NaN", a.run(nil, &s), want)
	})
}
