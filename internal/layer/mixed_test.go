package layer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// TestStoredInt8 checks that int8 weights of a file are those that loading rounds to, bit for bit,
// and that the precision says what the file has.
func TestStoredInt8(t *testing.T) {
	full, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	if _, err := quantize.Write(t.Context(), full, dir, quantize.Options{Format: "int8"}); err != nil {
		t.Fatal(err)
	}
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := layer.Resolve(c, precision.Precision{}, nil)
	if err != nil || p != precision.Of(precision.Int8).Complete() {
		t.Errorf("the file is in %v, %v", p, err)
	}
	for _, name := range []string{"encoder.layers.1.fc1.weight", "encoder.conv2.weight", "decoder.layers.0.fc2.weight",
		"decoder.embed_tokens.weight"} {
		a, b := matrix(t, full, p, name), matrix(t, c, p, name)
		if b.Format() != precision.Int8 {
			t.Errorf("%s is held in %s, want int8", name, b.Format())
		} else if !sameRows(a, b) {
			t.Errorf("%s differs from rounding while loading", name)
		}
	}
	if m := matrix(t, c, precision.Of(precision.F16), "encoder.layers.1.fc1.weight"); m.Format() != precision.F16 {
		t.Errorf("in f16 the encoder is held in %v", m.Format())
	}
}

// matrix loads a weight of c.
func matrix(t *testing.T, c *model.Checkpoint, p precision.Precision, name string) *kernel.Matrix {
	t.Helper()
	w, err := c.Weight(name)
	if err != nil {
		t.Fatal(err)
	}
	l := layer.NewLoader(c, p, nil)
	var m *kernel.Matrix
	if len(w.Shape) == 3 {
		m = l.Conv(strings.TrimSuffix(name, ".weight"), w.Shape[0], w.Shape[1], w.Shape[2]).W
	} else {
		m = l.Matrix(w.Shape[0], w.Shape[1], name)
	}
	if err := l.Read(); err != nil {
		t.Fatal(err)
	}
	return m
}

// sameRows reports whether two matrices have the same weights and give the same products.
func sameRows(a, b *kernel.Matrix) bool {
	x, y, in := make([]float32, a.In()), make([]float32, a.In()), make([]float32, a.In())
	for k := range in {
		in[k] = float32(k%7) - 3
	}
	for o := range a.Out() {
		a.Row(o, x)
		b.Row(o, y)
		if !slices.Equal(x, y) {
			return false
		}
	}
	p, q := make([]float32, a.Out()), make([]float32, a.Out())
	kernel.MatMul(nil, p, in, 1, a.In(), a, nil, kernel.Store)
	kernel.MatMul(nil, q, in, 1, a.In(), b, nil, kernel.Store)
	return slices.Equal(p, q)
}
