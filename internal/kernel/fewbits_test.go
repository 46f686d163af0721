package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

var groupedTypes = []precision.Format{precision.MXFP6, precision.Int4, precision.Int4Z}

// groupedWeights returns weights [out][in] coded in a format.
func groupedWeights(f precision.Format, rng *rand.Rand, out, in int) *quant.Matrix {
	w := quant.New(quant.Format(f), out, in)
	row := make([]float32, in)
	for o := range out {
		for k := range row {
			row[k] = float32(rng.NormFloat64() * math.Exp2(float64((o+k/32)%9)-8))
		}
		if o%7 == 3 {
			clear(row[:min(in, 40)]) // a group of zeros
		}
		w.Nearest(o, row)
	}
	return w
}

// product32 computes what MatMul defines, by the definition.
func product32(w *quant.Matrix, x []float32, bias float32, o int) float32 {
	groups := (w.Cols + 31) / 32
	floats := make([]float32, w.Cols)
	w.Floats(o, floats)
	acc := float32(0)
	for g := range groups {
		part := x[g*32 : min((g+1)*32, w.Cols)]
		most := float32(0)
		for _, v := range part {
			if v != v {
				return v
			}
			most = max(most, float32(math.Abs(float64(v))))
		}
		if most > math.MaxFloat32 {
			return float32(math.NaN())
		}
		s, scale, unit := 0, most/127, w.Grid(o, g).Scale()
		if most < 0x1p-100 {
			scale = 0
		}
		for i, v := range part {
			if scale != 0 && unit != 0 {
				s += int(math.RoundToEven(float64(float32(v*(127/most))))) * int(floats[g*32+i]/unit)
			}
		}
		acc = FMA(float32(s), float32(scale*unit), acc)
	}
	return acc + bias
}

// TestFewBits holds products against their definition, in every format, on every
// implementation, for few and many rows, and rows that do not fill a group or a panel.
func TestFewBits(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, f := range groupedTypes {
			for _, size := range []struct{ rows, in, out int }{
				{1, 32, 64}, {1, 300, 70}, {2, 33, 3}, {3, 31, 65}, {4, 1, 130}, {5, 544, 64}, {6, 96, 64}, {7, 64, 128}, {13, 100, 40}, {29, 320, 66}, {200, 70, 65}, {16, 128, 64}, {33, 260, 70}, {390, 160, 64},
			} {
				testFewBits(t, pool, rng, f, size.rows, size.in, size.out)
			}
		}
	})
}

func testFewBits(t *testing.T, pool *parallel.Pool, rng *rand.Rand, f precision.Format, rows, in, out int) {
	t.Helper()
	w := groupedWeights(f, rng, out, in)
	m, err := NewMatrix(f, out, in)
	if err != nil {
		t.Fatal(err)
	}
	m.FillPacked(nil, 0, w, 0, out)
	x, bias, dst := poisoned(rows*in, uniform(rng)), poisoned(out, uniform(rng)), poisoned(rows*out, uniform(rng))
	if rows > 2 { // groups of zeros and of what is not finite
		clear(x[:min(32, in)])
		x[in+in/2], x[2*in] = float32(math.Inf(1)), float32(math.NaN())
	}
	MatMul(pool, dst, x, rows, in, m, bias, Store)
	for r := range rows {
		for o := range out {
			if out*rows > 2000 && (r+o)%5 != 0 {
				continue
			}
			want, got := product32(w, x[r*in:][:in], bias[o], o), dst[r*out+o]
			if math.Float32bits(want) != math.Float32bits(got) && (want == want || got == got) {
				t.Fatalf("%v, [%d %d], %d rows: output %d of row %d = %x, want %x", f, out, in, rows, o, r, got, want)
			}
		}
	}
}

// TestRoundedFormats: activations that are rounded once serve matrices of every format
// with groups, as the layers of a model in int4 mix formats with a zero and without.
func TestRoundedFormats(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 7))
		for _, rows := range []int{5, 40} {
			const in, dim = 160, 64
			var keep RoundedRows
			x := poisoned(rows*in, uniform(rng))
			for _, f := range groupedTypes {
				w, err := NewMatrix(f, 2*dim, in)
				if err != nil {
					t.Fatal(err)
				}
				w.FillPacked(nil, 0, groupedWeights(f, rng, 2*dim, in), 0, 2*dim)
				var keys [2]*Keys
				for i, kept := range []*RoundedRows{nil, &keep} {
					keys[i] = NewKeys(1, dim, rows, precision.F32)
					values, places := NewValues(1, dim, rows, precision.F32), make([]Slot, rows)
					for r := range places {
						places[r] = Slot{keys[i], values, r}
					}
					MatMulKV(nil, nil, places, x, in, w, nil, kept)
				}
				sameStore(t, &keys[0].store, &keys[1].store, fmt.Sprintf("%v, %d rows", f, rows))
			}
		}
	})
}

// TestFewBitsRow: rows come out as the codec has them, from packed weights and from
// floats that are rounded.
func TestFewBitsRow(t *testing.T) {
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, f := range groupedTypes {
			const out, in = 70, 16*groupSize + 13 // zeros of sixteen groups at once, and of one
			w := groupedWeights(f, rng, out, in)
			m, err := NewMatrix(f, out+2, in)
			if err != nil {
				t.Fatal(err)
			}
			m.FillPacked(nil, 1, w, 0, out)
			want, got := make([]float32, in), make([]float32, in)
			floats := make([]float32, 0, out*in)
			for o := range out {
				w.Floats(o, want)
				m.Row(o+1, got)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: row %d = %v, want %v", f, o, got, want)
				}
				floats = append(floats, want...)
			}
			again, err := Pack(f, tensor.FromFloat32(floats, out, in))
			if err != nil {
				t.Fatal(err)
			}
			other := quant.New(w.Format, 1, in)
			for o := range out {
				other.Nearest(0, floats[o*in:][:in])
				other.Floats(0, want)
				again.Row(o, got)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: row %d rounded = %v, want %v", f, o, got, want)
				}
			}
		}
	})
}

// TestFewBitsExpand holds the expansions and the rounding of activations of every
// implementation against the reference, byte for byte.
func TestFewBitsExpand(t *testing.T) {
	for _, s := range sets {
		if !s.ok || s.name == "ref" {
			continue
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for n := 1; n < 5; n++ {
			codes, zeros, table := make([]byte, n*groupBytes), make([]byte, n*panel), [16]byte{}
			for _, b := range [][]byte{codes, zeros, table[:]} {
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
			}
			compare := func(name string, expand func(k fewBitsKernels, dst []byte)) {
				got, want := make([]byte, n*groupBytes+64), make([]byte, n*groupBytes+64)
				expand(s.fewBits, got)
				expand(fewBitsRef, want)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %s of %d groups differs from ref", s.name, name, n)
				}
			}
			compare("nibbles", func(k fewBitsKernels, dst []byte) { k.nibbles(dst, codes[:n*groupBytes/2], zeros) })
			compare("sixes", func(k fewBitsKernels, dst []byte) { k.mxfp6(dst, codes[:n*groupBytes*3/4], table[:]) })
			got, want := make([]float32, n*panel), make([]float32, n*panel)
			for i := range zeros {
				zeros[i] = max(1, zeros[i])
			}
			s.fewBits.powers(got, zeros)
			fewBitsRef.powers(want, zeros)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s: 2^(%d-127) = %v, want %v", s.name, zeros[i], got[i], want[i])
				}
			}
		}
		for range 200 {
			n := 1 + rng.IntN(200)
			groups := (n + 31) / 32
			x := poisoned(n, wild(rng))
			var q [2][]byte
			var scale [2][]float32
			var start [2][]int32
			for i, k := range []fewBitsKernels{s.fewBits, fewBitsRef} {
				q[i], scale[i], start[i] = make([]byte, groups*32), make([]float32, groups), make([]int32, groups)
				k.quantise(q[i], scale[i], start[i], x)
			}
			same := slices.EqualFunc(scale[0], scale[1], func(a, b float32) bool {
				return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
			})
			if !bytes.Equal(q[0], q[1]) || !slices.Equal(start[0], start[1]) || !same {
				t.Fatalf("%s: %v is rounded to %v %v %v, want %v %v %v", s.name, x, q[0], scale[0], start[0], q[1], scale[1], start[1])
			}
		}
	}
}

// TestFewBitsLargest: sums of the largest integers do not saturate anywhere.
func TestFewBitsLargest(t *testing.T) {
	forSets(t, func(t *testing.T) {
		for _, f := range groupedTypes {
			for _, sign := range []float32{1, -1} {
				const in, out = 64, 64
				w := make([]float32, in*out)
				for i := range w {
					w[i] = sign
				}
				m, err := Pack(f, tensor.FromFloat32(w, out, in))
				if err != nil {
					t.Fatal(err)
				}
				row, x, dst := make([]float32, in), make([]float32, 3*in), make([]float32, 3*out)
				m.Row(0, row)
				for i := range x {
					x[i] = -1
				}
				MatMul(nil, dst, x, 3, in, m, nil, Store)
				for i, v := range dst {
					if want := -in * row[0]; math.Abs(float64(v/want)-1) > 1e-6 {
						t.Fatalf("%v: output %d is %v, want %v", f, i, v, want)
					}
				}
			}
		}
	})
}

// TestFillPackedPieces checks that a matrix packed in pieces that begin and end inside
// panels, on two threads, has the bytes of one packed at once.
func TestFillPackedPieces(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, f := range groupedTypes {
		const out, in = 200, 100
		w := groupedWeights(f, rng, out, in)
		whole, err := NewMatrix(f, out, in)
		pieces, failed := NewMatrix(f, out, in)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		whole.FillPacked(nil, 0, w, 0, out)
		cuts := []int{0, 1, 64, 64, 70, 129, 199, out}
		for i, lo := range cuts[:len(cuts)-1] {
			pieces.FillPacked(pool, lo, w, lo, cuts[i+1])
		}
		if !bytes.Equal(pieces.data, whole.data) || !bytes.Equal(pieces.scales, whole.scales) || !bytes.Equal(pieces.zeros, whole.zeros) {
			t.Errorf("%v: packed in pieces is not what is packed at once", f)
		}
	}
}

// TestFillErrors checks that weights out of range are errors and that weights that do not fit panic.
func TestFillErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	w := groupedWeights(precision.Int4, rng, 4, 64)
	m, err := NewMatrix(precision.Int4, 3, 64)
	if err != nil {
		t.Fatal(err)
	}
	half, err := NewMatrix(precision.F16, 4, 64)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]float32{"too large": 1e6, "not a number": float32(math.NaN())} {
		if err := m.Fill(nil, 0, tensor.FromFloat32(slices.Repeat([]float32{v}, 64), 1, 64)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, f := range map[string]func(){
		"too many rows":  func() { m.FillPacked(nil, 0, w, 0, 4) },
		"no such rows":   func() { m.FillPacked(nil, 0, w, 3, 5) },
		"other format":   func() { half.FillPacked(nil, 0, w, 0, 4) },
		"below":          func() { m.FillPacked(nil, -1, w, 0, 1) },
		"other width":    func() { m.FillPacked(nil, 0, groupedWeights(precision.Int4, rng, 3, 32), 0, 3) },
		"beyond":         func() { m.FillPacked(nil, 1, w, 0, 3) },
		"another family": func() { m.FillPacked(nil, 0, groupedWeights(precision.MXFP6, rng, 3, 64), 0, 3) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	m.FillPacked(nil, 0, w, 1, 4)
}

// BenchmarkFewBits reports the bytes of weights read in a second, and operations.
func BenchmarkFewBits(b *testing.B) {
	pool := parallel.New(benchThreads)
	defer pool.Close()
	for _, f := range append([]precision.Format{precision.Int8}, groupedTypes...) {
		for _, rows := range []int{1, 2, 4, 6, 1500} {
			mats, in, out := 60, 1280, 1280
			if rows > 100 {
				mats = 1
			}
			b.Run(fmt.Sprintf("%v/%d", f, rows), func(b *testing.B) {
				var ws []*Matrix
				rng := rand.New(rand.NewPCG(1, 2))
				for range mats {
					m, err := NewMatrix(f, out, in)
					if err != nil {
						b.Fatal(err)
					}
					m.allocate()
					for i := range m.data {
						m.data[i] = byte(rng.Uint32())
					}
					ws = append(ws, m)
				}
				x, dst := make([]float32, rows*in), make([]float32, rows*out)
				for i := range x {
					x[i] = float32(i%17) - 8
				}
				i := 0
				for b.Loop() {
					MatMul(pool, dst, x, rows, in, ws[i%mats], nil, Store)
					i++
				}
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(2*float64(rows)*float64(in)*float64(out)/ns, "GOP/s")
				b.ReportMetric(float64(ws[0].Bytes())/ns, "GB/s")
			})
		}
	}
}

// benchThreads is 0 for all.
var benchThreads, _ = strconv.Atoi(os.Getenv("VERITY_BENCH_THREADS"))
