package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/model"
	"verity/model/digits"
	"verity/model/quantize"
	"verity/precision"
)

// TestMixed loads weights with and without zeros as one matrix, as keys and values are:
// each output must have the bits that it has alone.
func TestMixed(t *testing.T) {
	full, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	layers, err := quantize.Write(t.Context(), full, dir, quantize.Options{Format: "int4"})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{} // by format
	for _, l := range layers {
		if l.Weights == 160*160 {
			named[l.Format] = append(named[l.Format], l.Name)
		}
	}
	if len(named["int4"]) == 0 || len(named["int4z"]) == 0 {
		t.Fatalf("square weights by format: %v, want some of both", named)
	}
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := make([]float32, 160)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	product := func(names ...string) []float32 {
		l := layer.NewLoader(c, precision.Of(precision.Int4), nil)
		m := l.Matrix(160, 160, names...)
		if err := l.Read(); err != nil {
			t.Fatal(err)
		}
		y := make([]float32, 160*len(names))
		kernel.MatMul(nil, y, x, 1, 160, m, nil, kernel.Store)
		return y
	}
	a, b := named["int4"][0], named["int4z"][0]
	one, two := product(a), product(b)
	for _, tt := range []struct {
		names []string
		want  []float32
	}{{[]string{a, b}, append(one[:160:160], two...)}, {[]string{b, a}, append(two[:160:160], one...)}} {
		for i, v := range product(tt.names...) {
			if math.Float32bits(v) != math.Float32bits(tt.want[i]) {
				t.Fatalf("%v: output %d is %v, alone %v", tt.names, i, v, tt.want[i])
			}
		}
	}
}
