package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// Packing and reading a row back rounds each weight once, whatever lies beside it.
func TestPackRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, store := range floatTypes {
		for _, source := range fileTypes {
			for _, in := range []int{1, 5, 64} {
				a := tensor.Convert(poisoned(70*in, uniform(rng)), source, 70, in)
				b := tensor.Convert(poisoned(3*in, uniform(rng)), source, 3, in)
				m, err := NewMatrix(store, 73, in)
				if err := errors.Join(err, m.Fill(nil, 0, a), m.Fill(nil, 70, b)); err != nil {
					t.Fatal(err)
				}
				want := tensor.Convert(append(a.Float32(), b.Float32()...), map[precision.Format]tensor.DType{precision.F32: tensor.F32, precision.F16: tensor.F16}[store], 73, in).Float32()
				got := make([]float32, in)
				for o := range m.Out() {
					m.Row(o, got)
					checkSame(t, got, want[o*in:][:in], source.String()+" as "+store.String())
				}
			}
		}
	}
}

func TestPackRowInt8(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	x := poisoned(70*9, uniform(rng))
	m, err := Pack(precision.Int8, tensor.FromFloat32(x, 70, 9))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 9)
	for o := range m.Out() {
		m.Row(o, got)
		q, scale := int8Exact(x[o*9:][:9])
		for k := range got {
			if want := float32(q[k]) * scale; got[k] != want {
				t.Fatalf("row %d element %d = %v, want %v", o, k, got[k], want)
			}
		}
	}
}

// TestFillRows checks that rows rounded apart, and filled in pieces, are the matrix that Pack makes, and
// that -128 is refused wherever it is.
func TestFillRows(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(45, 46))
	for _, in := range []int{1, 5, 64, 99} {
		const out = 200
		x := poisoned(out*in, uniform(rng))
		want, err := Pack(precision.Int8, tensor.FromFloat32(x, out, in))
		got, failed := NewMatrix(precision.Int8, out, in)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		w := quant.NewRows(out, in)
		for r := range out {
			w.Put(r, RoundRow(w.Row(r), x[r*in:][:in]))
		}
		cuts := []int{0, 1, 64, 64, 70, 129, 199, out}
		for i, lo := range cuts[:len(cuts)-1] {
			if err := got.FillRows(pool, lo, w, lo, cuts[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got.data, want.data) || !slices.Equal(got.scale, want.scale) || !slices.Equal(got.offset, want.offset) {
			t.Errorf("%d inputs: the rows are not what Pack makes", in)
		}
		for k := range in {
			code := &w.Row(77)[k]
			old := *code
			*code = 0x80
			if err := got.FillRows(nil, 0, w, 0, out); err == nil || !strings.Contains(err.Error(), "output 77 has the weight -128") {
				t.Fatalf("%d inputs: -128 at %d: %v", in, k, err)
			}
			*code = old
		}
	}
	if s := RoundRow(make([]byte, 2), []float32{1, float32(math.NaN())}); s == s {
		t.Errorf("the scale of a row with NaN is %v", s)
	}
}

func TestPackErrors(t *testing.T) {
	two := tensor.FromFloat32(make([]float32, 6), 2, 3)
	of := func(x ...float32) tensor.Tensor { return tensor.FromFloat32(x, 1, len(x)) }
	inf := float32(math.Inf(1))
	tests := []struct {
		why   string
		store precision.Format
		w     tensor.Tensor
		want  string // part of the error, or none
	}{
		{"no type", 0, two, "cannot hold"},
		{"a vector", precision.F32, tensor.FromFloat32(nil, 0), "two dimensions"},
		{"a source without a scale", precision.F32, tensor.Tensor{DType: tensor.I8, Shape: []int{1, 1}, Data: []byte{1}}, "int8"},
		{"above binary16", precision.F16, of(1, 65520), "65520"},
		{"the largest binary16", precision.F16, of(1, 65519), ""},
		{"infinity is infinity", precision.F16, of(inf), ""},
		{"infinity has no scale", precision.Int8, of(inf, 1), "int8 cannot"},
		{"nor has NaN", precision.Int8, of(1, float32(math.NaN())), "int8 cannot"},
		{"sums beyond int32", precision.Int8, tensor.Tensor{DType: tensor.F16, Shape: []int{0, 133_145}}, "at most 133144"},
		{"no outputs", precision.F16, tensor.Tensor{DType: tensor.F16, Shape: []int{0, 3}}, ""},
	}
	for _, tt := range tests {
		_, err := Pack(tt.store, tt.w)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want one with %q", tt.why, err, tt.want)
		}
	}
}

// A matrix filled in pieces at odd places, on any number of threads, is the matrix
// packed row by row as the order of its elements says, padding included.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	pool := parallel.New(3)
	defer pool.Close()
	for _, store := range append(floatTypes, precision.Int8) {
		for _, source := range fileTypes {
			for _, in := range []int{1, 3, 4, 64, 129, 130, 131, 515} {
				const out = 3*panel + 5
				w := tensor.Convert(poisoned(out*in, uniform(rng)), source, out, in)
				want := fillSlowly(t, store, w)
				for _, cuts := range [][]int{{0, out}, {0, panel, out}, {0, 7, 2 * panel, 2*panel + 1, out}} {
					m, err := NewMatrix(store, out, in)
					if err != nil {
						t.Fatal(err)
					}
					for i, lo := range cuts[:len(cuts)-1] {
						if err := m.Fill(pool, lo, w.Rows(lo, cuts[i+1])); err != nil {
							t.Fatal(err)
						}
					}
					if !bytes.Equal(m.data, want.data) || !slices.Equal(m.offset, want.offset) || !slices.Equal(m.scale, want.scale) {
						t.Fatalf("%v as %v, %d inputs, in pieces from %v: other bytes than row by row", source, store, in, cuts)
					}
				}
			}
		}
	}
}

// fillSlowly packs one element at a time, by what place says.
func fillSlowly(t *testing.T, store precision.Format, w tensor.Tensor) *Matrix {
	t.Helper()
	out, in := w.Shape[0], w.Shape[1]
	m, err := NewMatrix(store, out, in)
	if err != nil {
		t.Fatal(err)
	}
	m.allocate()
	clear(m.data)
	for o := range out {
		row := w.Rows(o, o+1).Float32()
		inverse, scale := int8Scale(maxAbsRef(row))
		if store == precision.Int8 {
			m.scale[o] = scale
		}
		for k, v := range row {
			at := m.place(o) + k*panel
			switch store {
			case precision.F32:
				view[float32](m.data)[at] = v
			case precision.F16:
				view[uint16](m.data)[at] = tensor.F16Bits(v)
			case precision.Int8:
				q := roundInt8(v, inverse)
				view[int8](m.data)[m.place(o)+k/4*4*panel+k%4] = int8(q)
				m.offset[o] -= int8Zero * q
			}
		}
	}
	return m
}

func TestFillRefuses(t *testing.T) {
	m, err := NewMatrix(precision.F32, 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		first int
		w     tensor.Tensor
	}{
		{0, tensor.FromFloat32(make([]float32, 8), 2, 4)}, {3, tensor.FromFloat32(make([]float32, 6), 2, 3)},
		{-1, tensor.FromFloat32(make([]float32, 3), 1, 3)}, {0, tensor.FromFloat32(make([]float32, 3), 3)},
	} {
		if err := m.Fill(nil, tt.first, tt.w); err == nil {
			t.Errorf("%v as outputs %d … of [4 3] passes", tt.w, tt.first)
		}
	}
	broken := tensor.FromFloat32([]float32{1, 2, float32(math.NaN())}, 1, 3)
	m, err = NewMatrix(precision.Int8, 500, 3)
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(2)
	defer pool.Close()
	if err := m.Fill(pool, 420, broken); err == nil || !strings.Contains(err.Error(), "output 420") {
		t.Errorf("NaN in output 420: error %v", err)
	}
}

func TestWidenHalf(t *testing.T) {
	all := make([]byte, 2*(1<<16))
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	forSets(t, func(t *testing.T) {
		got := make([]float32, 1<<16)
		use.packing.widenHalf(got, all)
		for i, v := range got {
			want := tensor.F16ToFloat32(uint16(i))
			if math.Float32bits(v) != math.Float32bits(want) && (v == v || want == want) {
				t.Fatalf("%#04x is %v, want %v", i, v, want)
			}
		}
		for n := range 80 { // all lengths, unaligned, between canaries
			x, check := canaried(n, func() float32 { return 0 })
			use.packing.widenHalf(x, all[2*0x3c01-2+1:][:2*n])
			check(t)
			ref := make([]float32, n)
			widenHalfRef(ref, all[2*0x3c01-2+1:][:2*n])
			checkSame(t, x, ref, use.name)
		}
	})
}

// TestPackTranspose holds transpositions of all small shapes against their definition, between
// canaries.
func TestPackTranspose(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	forSets(t, func(t *testing.T) {
		for size, transpose := range map[int]func(to, from []byte, stride, rows, cols int){
			2: use.packing.halves,
			4: use.packing.words,
		} {
			for rows := range panel + 1 {
				for _, cols := range []int{0, 1, 3, 4, 7, 8, 9, 16, 29, 64, 120} {
					testPackTranspose(t, rng, transpose, size, rows, cols, use.name)
				}
			}
		}
	})
}

func testPackTranspose(t *testing.T, rng *rand.Rand, transpose func(to, from []byte, stride, rows, cols int), size, rows, cols int, name string) {
	t.Helper()
	stride := cols*size + rng.IntN(5)
	from := make([]byte, 1+max(0, (rows-1)*stride+cols*size))[1:] // unaligned
	for i := range from {
		from[i] = byte(rng.Uint32())
	}
	need := 0
	if rows > 0 && cols > 0 {
		need = ((cols-1)*panel + rows) * size
	}
	got, want := make([]byte, need+64), make([]byte, need+64)
	for i := range got {
		got[i], want[i] = 0xa5, 0xa5
	}
	for r := range rows {
		for k := range cols {
			copy(want[(k*panel+r)*size:][:size], from[r*stride+k*size:])
		}
	}
	transpose(got[:need], from, stride, rows, cols)
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %d rows of %d elements of %d bytes are not transposed", name, rows, cols, size)
	}
}

func BenchmarkPack(b *testing.B) {
	const n = 1280
	for _, source := range fileTypes {
		w := tensor.Convert(poisoned(n*n, uniform(rand.New(rand.NewPCG(1, 2)))), source, n, n)
		for _, store := range []precision.Format{precision.F32, precision.F16, precision.Int8} {
			b.Run(source.String()+"/"+store.String(), func(b *testing.B) {
				m, err := NewMatrix(store, n, n)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := m.Fill(nil, 0, w); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*n*n/float64(b.Elapsed().Nanoseconds()), "Gweights/s")
			})
		}
	}
}
