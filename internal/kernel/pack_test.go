package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"verity/internal/tensor"
)

// Packing and reading a row back rounds each weight once, whatever lies beside it.
func TestPackRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, store := range floatTypes {
		for _, source := range floatTypes {
			for _, in := range []int{1, 5, 64} {
				a := tensor.Convert(poisoned(70*in, uniform(rng)), source, 70, in)
				b := tensor.Convert(poisoned(3*in, uniform(rng)), source, 3, in)
				m, err := Pack(store, a, b)
				if err != nil {
					t.Fatal(err)
				}
				want := tensor.Convert(append(a.Float32(), b.Float32()...), store, 73, in).Float32()
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
	m, err := Pack(tensor.I8, tensor.FromFloat32(x, 70, 9))
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

func TestPackErrors(t *testing.T) {
	two := tensor.FromFloat32(make([]float32, 6), 2, 3)
	of := func(x ...float32) tensor.Tensor { return tensor.FromFloat32(x, 1, len(x)) }
	inf := float32(math.Inf(1))
	tests := []struct {
		why   string
		store tensor.DType
		ws    []tensor.Tensor
		want  string // part of the error, or none
	}{
		{"no weights", tensor.F32, nil, "nothing"},
		{"no type", 0, []tensor.Tensor{two}, "store"},
		{"a vector", tensor.F32, []tensor.Tensor{tensor.FromFloat32(nil, 0)}, "two dimensions"},
		{"a source without a scale", tensor.F32, []tensor.Tensor{{DType: tensor.I8, Shape: []int{1, 1}, Data: []byte{1}}}, "int8"},
		{"different widths", tensor.F32, []tensor.Tensor{two, of(1, 2)}, "3 and 2"},
		{"above binary16", tensor.F16, []tensor.Tensor{of(1, 65520)}, "65520"},
		{"the largest binary16", tensor.F16, []tensor.Tensor{of(1, 65519)}, ""},
		{"above bfloat16", tensor.BF16, []tensor.Tensor{of(-0x1.ffp127)}, "too large"},
		{"the largest bfloat16", tensor.BF16, []tensor.Tensor{of(0x1.fefffep127)}, ""},
		{"infinity is infinity", tensor.F16, []tensor.Tensor{of(inf)}, ""},
		{"infinity has no scale", tensor.I8, []tensor.Tensor{of(inf, 1)}, "finite"},
		{"nor has NaN", tensor.I8, []tensor.Tensor{of(1, float32(math.NaN()))}, "finite"},
		{"sums beyond int32", tensor.I8, []tensor.Tensor{{DType: tensor.F16, Shape: []int{0, 133_145}}}, "at most 133144"},
		{"no outputs", tensor.F16, []tensor.Tensor{{DType: tensor.F16, Shape: []int{0, 3}}}, ""},
	}
	for _, tt := range tests {
		_, err := Pack(tt.store, tt.ws...)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want one with %q", tt.why, err, tt.want)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	const n = 1280
	for _, source := range floatTypes {
		w := tensor.Convert(poisoned(n*n, uniform(rand.New(rand.NewPCG(1, 2)))), source, n, n)
		for _, store := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.I8} {
			b.Run(source.String()+"/"+store.String(), func(b *testing.B) {
				for b.Loop() {
					if _, err := Pack(store, w); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*n*n/float64(b.Elapsed().Nanoseconds()), "Gweights/s")
			})
		}
	}
}
