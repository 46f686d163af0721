package layer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/precision"
)

// TestSNRGroups repeats TestSNR for formats with a scale for each 32 weights and each 32
// channels: an outlier coarsens its group alone. make snr shows the table.
func TestSNRGroups(t *testing.T) {
	const width, out, rows = 1280, 512, 4
	formats := append([]precision.Format{precision.Int8}, grouped()...)
	outliers := []struct{ share, times float64 }{{0, 0}, {0.001, 20}, {0.001, 60}, {0.01, 20}, {0.01, 60}}
	head := fmt.Sprintf("%-8s", "format")
	for _, o := range outliers {
		head += fmt.Sprintf("  %12s", name(o.share, o.times))
	}
	t.Log(head)
	w, got := make([]float32, out*width), make([]float32, rows*out)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range w {
		w[i] = float32(rng.NormFloat64() / 36)
	}
	levels := map[precision.Format][]noiseLevel{}
	for _, f := range formats {
		m, err := kernel.Pack(f, tensor.FromFloat32(w, out, width))
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%-8v", f)
		for i, o := range outliers {
			rng := rand.New(rand.NewPCG(9, uint64(i))) // the same for every format
			x, large := activations(rng, rng.NormFloat64, rows, width, o.share, o.times)
			kernel.MatMul(nil, got, x, rows, width, m, nil, kernel.Store)
			n := noise(got, x, w, rows, width, out, large)
			levels[f] = append(levels[f], n)
			line += fmt.Sprintf("  %5.1f (%4.1f)", n.all, n.others)
		}
		t.Log(line)
	}
	lost := func(f precision.Format, i int) float64 { return levels[f][0].others - levels[f][i].others }
	for i, o := range outliers[1:] {
		if row, group := lost(precision.Int8, i+1), lost(precision.MXFP6, i+1); !(group <= row-4) { // true for NaN
			t.Errorf("outliers %s cost the other channels %.1f dB with groups, %.1f without", name(o.share, o.times), group, row)
		}
	}
	for f, least := range map[precision.Format]float64{precision.MXFP6: 28, precision.Int4Z: 18, precision.Int4: 17} {
		if n := levels[f][0].all; !(n >= least) {
			t.Errorf("%v: %.1f dB, want %v", f, n, least)
		}
	}
	t.Log("decibels of the outputs over their error; in brackets, of what the channels that are no outliers give")
}

// grouped returns the formats with groups.
func grouped() (all []precision.Format) {
	for f := precision.F32; f.Bits() > 0; f++ {
		if f.Grouped() {
			all = append(all, f)
		}
	}
	return all
}
