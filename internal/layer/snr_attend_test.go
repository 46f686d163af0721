package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"verity/internal/kernel"
	"verity/precision"
)

// TestSNRAttention measures how far attention in int8 is from exact attention, in
// decibels, for one head of published models, 64 wide, over the 1500 positions of a
// window: its weights, which show the error of the scores, and its output. make snr
// shows the table.
//
// Scores have a standard deviation of spread, so that the largest of 1500 weighs little
// at 0.5, and more than all others together at 4. Outliers are a channel of queries and
// keys, or one of values, that is many times as large as the others: it coarsens what
// shares a scale with it. The outlier adds the same to all scores but for its noise, as a
// query's bias does. Float32 is at 110 dB and more.
func TestSNRAttention(t *testing.T) {
	const dim, keys, rows = 64, 1500, 48
	rng := rand.New(rand.NewPCG(9, 10))
	for _, spread := range []float64{0.5, 1, 2, 4} {
		line := fmt.Sprintf("spread %-3g", spread)
		for _, o := range []struct {
			name             string
			keys, values     float64
			weights, outputs float64 // decibels, at least
		}{
			{"none", 1, 1, 33.5, 31.5}, {"a channel of q, k × 10", 10, 1, 22.5, 22.5}, {"a channel of v × 10", 1, 10, 32.5, 35},
		} {
			// q·k/8 has a standard deviation of spread if q has 1 and k has it.
			q, k, v := normal(rng, rows*dim, 1), normal(rng, keys*dim, spread), normal(rng, keys*dim, 1)
			outlier(rng, q, dim, o.keys, 0.02)
			outlier(rng, k, dim, o.keys*spread, 0.02)
			outlier(rng, v, dim, o.values, 1)
			w, out := attendNoise(q, k, v, dim)
			line += fmt.Sprintf("   %s: %.1f, %.1f", o.name, w, out)
			if !(w >= o.weights && out >= o.outputs) { // true for NaN
				t.Errorf("spread %g, outliers %s: weights %.1f dB, output %.1f, want %.1f and %.1f", spread, o.name, w, out, o.weights, o.outputs)
			}
		}
		t.Log(line)
	}
	t.Log("decibels of the weights and of the outputs over their error")
}

func normal(rng *rand.Rand, n int, deviation float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(deviation * rng.NormFloat64())
	}
	return x
}

// outlier makes channel 5 times as large, if times is not 1, with a share of it at random.
func outlier(rng *rand.Rand, x []float32, dim int, times, random float64) {
	if times == 1 {
		return
	}
	for i := 5; i < len(x); i += dim {
		x[i] = float32(times * (1 + random*rng.NormFloat64()))
	}
}

// attendNoise returns signal over noise of the weights and of the outputs of attention in
// int8, against float64.
func attendNoise(q, k, v []float32, dim int) (weights, outputs float64) {
	rows, keys, scale := len(q)/dim, len(k)/dim, float32(1/math.Sqrt(float64(dim)))
	span := kernel.Span{K: kernel.NewKeys(1, dim, keys, precision.Int8), V: kernel.NewValues(1, dim, keys, precision.Int8), N: keys}
	span.K.Set(nil, 0, keys, k, dim)
	span.V.Set(nil, 0, keys, v, dim)
	spans := make([]kernel.Span, rows)
	for i := range spans {
		spans[i] = span
	}
	gotW, got := make([]float32, rows*keys), make([]float32, rows*dim)
	kernel.AttendWeights(gotW, q, dim, 0, dim, scale, spans, nil)
	kernel.Attend(nil, got, q, dim, 1, dim, scale, spans, nil)
	var sw, nw, so, no float64
	w := make([]float64, keys)
	for r := range rows {
		sum, most := 0.0, math.Inf(-1)
		for j := range w {
			w[j] = 0
			for d := range dim {
				w[j] += float64(q[r*dim+d]) * float64(k[j*dim+d]) * float64(scale)
			}
			most = max(most, w[j])
		}
		for j := range w {
			w[j] = math.Exp(w[j] - most)
			sum += w[j]
		}
		for j := range w {
			w[j] /= sum
			e := w[j] - float64(gotW[r*keys+j])
			sw, nw = sw+w[j]*w[j], nw+e*e
		}
		for d := range dim {
			o := 0.0
			for j := range w {
				o += w[j] * float64(v[j*dim+d])
			}
			e := o - float64(got[r*dim+d])
			so, no = so+o*o, no+e*e
		}
	}
	return 10 * math.Log10(sw/nw), 10 * math.Log10(so/no)
}
