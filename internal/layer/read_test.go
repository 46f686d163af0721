package layer

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"verity/internal/formats/weights"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
	"verity/model/digits"
	"verity/parallel"
	"verity/precision"
)

// small makes pieces small while a test runs.
func small(t *testing.T, bytes int) {
	was := pieceBytes
	pieceBytes = bytes
	t.Cleanup(func() { pieceBytes = was })
}

// TestPieces checks that pieces have every row of every job once, in order, that matrices
// are cut between panels, and that no piece is larger than it may be by more than a panel.
func TestPieces(t *testing.T) {
	small(t, 1<<14)
	var jobs []job
	var want []string
	for i, shape := range [][]int{{7}, {1000, 8}, {64, 128}, {1, 100_000}, {20_000}, {130, 64, 3}, {0, 4}} {
		w := weights.Weight{Entry: weights.Entry{Shape: shape, DType: tensor.F16}}
		w.Data = make([]byte, 2*w.Len())
		jobs = append(jobs, job{name: fmt.Sprint(i), from: w, hi: shape[0]})
		for row := range shape[0] {
			want = append(want, fmt.Sprint(i, row))
		}
	}
	var got []string
	cut := 0
	for piece := range pieces(jobs) {
		bytes, panel := 0, 0
		for _, j := range piece {
			if j.lo > 0 {
				cut++
			}
			if j.lo%panelRows != 0 {
				t.Errorf("job %s is cut at row %d", j.name, j.lo)
			}
			for row := j.lo; row < j.hi; row++ {
				got = append(got, fmt.Sprint(j.name, " ", row))
			}
			bytes, panel = bytes+(j.hi-j.lo)*j.rowBytes(), max(panel, panelRows*j.rowBytes())
		}
		if bytes == 0 || bytes > pieceBytes+panel {
			t.Errorf("a piece of %d bytes, want up to %d", bytes, pieceBytes+panel)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows of %d, or in another order", len(got), len(want))
	}
	if cut < 3 {
		t.Errorf("%d cuts, want three jobs and more to be cut", cut)
	}
}

// TestSameBits checks that layers have the same bits, whether they come from a mapped file
// or from memory, whole or in pieces, on one thread or on several.
func TestSameBits(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, digits.Target()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f32", "f16", "int8", "int4", "mxfp6"} {
		f, err := precision.ParseFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		held, err := model.OpenFS(digits.Target(), "digits")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		want := layers(t, held, f, nil)
		mapped, err := model.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer mapped.Close()
		if len(mapped.Files()) != 1 || filepath.Dir(mapped.Files()[0]) != dir {
			t.Fatalf("mapped files: %v", mapped.Files())
		}
		for _, bytes := range []int{pieceBytes, 1 << 14, 1} {
			for _, threads := range []int{1, 3} {
				pool := parallel.New(threads)
				small(t, bytes)
				got := layers(t, mapped, f, pool)
				pool.Close()
				if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
					t.Errorf("%v, pieces of %d bytes, %d threads: other bits", f, bytes, threads)
				}
			}
		}
	}
}

// layers loads one of each kind of layer and returns the weights.
func layers(t *testing.T, c *model.Checkpoint, f precision.Format, p *parallel.Pool) (x []float32) {
	t.Helper()
	d, l := c.Dims, NewLoader(c, precision.Of(f), p)
	const at = "decoder.layers.0.self_attn."
	conv := l.Conv("encoder.conv2", d.AudioWidth, d.AudioWidth, 3)
	positions := l.Floats("encoder.embed_positions.weight", d.AudioPositions, d.AudioWidth)
	norm := l.Norm("encoder.layer_norm", d.AudioWidth)
	qkv := l.Linear(d.TextWidth, d.TextWidth, at+"q_proj", at+"k_proj", at+"v_proj")
	whole := l.Matrix(d.Vocab, d.TextWidth, "decoder.embed_tokens.weight")
	if err := l.Read(); err != nil {
		t.Fatal(err)
	}
	x = slices.Concat(positions, norm.Gain, norm.Bias, conv.Bias, qkv.Bias)
	for _, m := range []*kernel.Matrix{conv.W, qkv.W, whole} {
		row := make([]float32, m.In())
		for o := range m.Out() {
			m.Row(o, row)
			x = append(x, row...)
		}
	}
	return x
}
