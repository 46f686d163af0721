package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/precision"
)

// TestSNR measures how far int8 products are from exact ones, in decibels, for
// every kind of layer of large-v2 and with outliers in the activations: some
// channels that are many times as large as the others, as large transformers have
// them. make snr shows the table.
//
// A row of activations has one scale, its largest magnitude over 127, so outliers
// coarsen all of it. Where x and w are off by e_x and e_w after rounding, an output
// is off by about Σ(w·e_x + x·e_w); as signs are random, by a square of
//
//	Σ(w²·e_x² + x²·e_w²)
//
// on average, which the measured noise must agree with to half a decibel. The exact
// products are in float64.
func TestSNR(t *testing.T) {
	const width, ffn, rows = 1280, 5120, 4
	rng := rand.New(rand.NewPCG(7, 8))
	normal := func() float64 { return rng.NormFloat64() }
	kinds := []struct {
		name    string
		in, out int
		draw    func() float64 // of an activation without outliers
	}{
		{"attention q, k, v", width, 3 * width, normal},                                                 // what a norm gives
		{"attention out", width, width, func() float64 { return rng.NormFloat64() * rng.ExpFloat64() }}, // means over few or many values
		{"fc1", width, ffn, normal},
		{"fc2", ffn, width, func() float64 { x := 1.5 * rng.NormFloat64(); return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }},
		{"cross k, v", width, 2 * width, normal}, // features
		{"vocabulary head", width, 4096, normal}, // of 51,865: each output has a scale of its own
	}
	outliers := []struct{ share, times float64 }{{0, 0}, {0.001, 20}, {0.001, 60}, {0.01, 20}, {0.01, 60}}
	t.Logf("%-18s %11s   %s", "", "", "share of channels that are outliers × their size over the others'")
	head := fmt.Sprintf("%-18s %11s", "layer", "shape")
	for _, o := range outliers {
		head += fmt.Sprintf("  %12s", name(o.share, o.times))
	}
	t.Log(head)
	for _, k := range kinds {
		w := make([]float32, k.out*k.in)
		for i := range w {
			w[i] = float32(rng.NormFloat64() / math.Sqrt(float64(k.in)))
		}
		m, err := kernel.Pack(precision.Int8, tensor.FromFloat32(w, k.out, k.in))
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%-18s %11s", k.name, fmt.Sprintf("%d×%d", k.in, k.out))
		for _, o := range outliers {
			x, large := activations(rng, k.draw, rows, k.in, o.share, o.times)
			got := make([]float32, rows*k.out)
			kernel.MatMul(nil, got, x, rows, k.in, m, make([]float32, k.out), kernel.Store)
			n := noise(got, x, w, rows, k.in, k.out, large)
			line += fmt.Sprintf("  %5.1f (%4.1f)", n.all, n.others)
			if !(math.Abs(n.all-n.expected) <= 0.5) { // true for NaN
				t.Errorf("%s with outliers %s: %.2f dB, want %.2f as rounding explains", k.name, name(o.share, o.times), n.all, n.expected)
			}
		}
		t.Log(line)
	}
	t.Log("decibels of the outputs over their error; in brackets, of what the channels that are no outliers give")
}

func name(share, times float64) string {
	if share == 0 {
		return "none"
	}
	return fmt.Sprintf("%g %% × %g", 100*share, times)
}

// activations draws rows of n, in which the same share of channels, at least one,
// is times the standard deviation of the others.
func activations(rng *rand.Rand, draw func() float64, rows, n int, share, times float64) (x []float32, large map[int]bool) {
	x, large = make([]float32, rows*n), map[int]bool{}
	sum := 0.0
	for i := range x {
		v := draw()
		x[i] = float32(v)
		sum += v * v
	}
	deviation := math.Sqrt(sum / float64(len(x)))
	for len(large) < int(math.Round(share*float64(n))) {
		large[rng.IntN(n)] = true
	}
	for c := range large {
		for r := range rows {
			x[r*n+c] = float32(math.Copysign(times*deviation, rng.NormFloat64()))
		}
	}
	return x, large
}

// A noiseLevel is signal over noise in decibels.
type noiseLevel struct{ all, others, expected float64 }

// noise compares got, [rows][out], with the exact product of x and w.
func noise(got, x, w []float32, rows, in, out int, large map[int]bool) noiseLevel {
	var signal, part, squares, expected float64
	off := make([][]float64, out)
	for o := range off {
		off[o] = rounding(w[o*in:][:in])
	}
	for r := range rows {
		row := x[r*in:][:in]
		ex := rounding(row)
		for o := range out {
			y, outlying, weights := 0.0, 0.0, w[o*in:][:in]
			for k, v := range row {
				y += float64(v) * float64(weights[k])
			}
			for c := range large {
				outlying += float64(row[c]) * float64(weights[c])
			}
			ew := off[o]
			for k, v := range row {
				expected += float64(weights[k])*float64(weights[k])*ex[k] + float64(v)*float64(v)*ew[k]
			}
			e := float64(got[r*out+o]) - y
			signal += y * y
			part += (y - outlying) * (y - outlying)
			squares += e * e
		}
	}
	decibels := func(a, b float64) float64 { return 10 * math.Log10(a/b) }
	return noiseLevel{decibels(signal, squares), decibels(part, squares), decibels(signal, expected)}
}

// rounding returns the squares of what each of x is off by when it is rounded to
// int8.
func rounding(x []float32) []float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	squares, step := make([]float64, len(x)), most/127
	for i, v := range x {
		e := float64(v) - step*math.RoundToEven(float64(v)/step)
		squares[i] = e * e
	}
	return squares
}
