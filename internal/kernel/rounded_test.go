package kernel

import (
	"math/rand/v2"
	"testing"

	"verity/parallel"
	"verity/precision"
)

// roundedMatrix returns a matrix of random weights whose products round their inputs.
func roundedMatrix(t *testing.T, rng *rand.Rand, f precision.Format, out, in int) *Matrix {
	t.Helper()
	if f == precision.Int8 {
		return newProduct(t, rng, uniform(rng), 1, in, out, f).w
	}
	w, err := NewMatrix(f, out, in)
	if err != nil {
		t.Fatal(err)
	}
	w.FillPacked(nil, 0, groupedWeights(f, rng, out, in), 0, out)
	return w
}

// TestNormalise: rows that are rounded as they leave a norm give the bits of a norm,
// followed by a product.
func TestNormalise(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	forSets(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		var held RoundedRows // with room from the shapes before
		for _, f := range append([]precision.Format{precision.Int8}, groupedTypes...) {
			for _, rows := range []int{1, 9, 16, 50} {
				const in, out = 160, 70
				w := roundedMatrix(t, rng, f, out, in)
				x, gain, bias := poisoned(rows*in, wild(rng)), poisoned(in, uniform(rng)), poisoned(in, uniform(rng))
				y, want, got := make([]float32, rows*in), make([]float32, rows*out), make([]float32, rows*out)
				for r := range rows {
					LayerNorm(y[r*in:][:in], x[r*in:][:in], gain, bias, 1e-5)
				}
				MatMul(pool, want, y, rows, in, w, nil, StoreGELU)
				held.Normalise(pool, x, rows, Norm{gain, bias, 1e-5}, w)
				MatMulRounded(pool, got, &held, rows, w, nil, StoreGELU)
				checkSame(t, got, want, f.String())
			}
		}
	})
}

// TestMatMulRoundedRefuses: what was not rounded for a matrix must not be multiplied by it.
func TestMatMulRoundedRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	w, other := roundedMatrix(t, rng, precision.Int8, 8, 32), roundedMatrix(t, rng, precision.Int8, 8, 64)
	var full RoundedRows
	full.Normalise(nil, make([]float32, 2*32), 2, Norm{make([]float32, 32), make([]float32, 32), 1}, w)
	for name, call := range map[string]func(){
		"nothing rounded":   func() { MatMulRounded(nil, make([]float32, 16), new(RoundedRows), 2, w, nil, Store) },
		"of other rows":     func() { MatMulRounded(nil, make([]float32, 24), &full, 3, w, nil, Store) },
		"of another matrix": func() { MatMulRounded(nil, make([]float32, 16), &full, 2, other, nil, Store) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
