package timing_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/internal/timing"
)

// TestMedian: by sorting, with NaN last as torch sorts. The rows are odd and even, and some too short to be reflected.
func TestMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for cols := range 40 {
		m := timing.Matrix{Rows: 3, Cols: cols, Data: make([]float32, 3*cols)}
		for i := range m.Data {
			if m.Data[i] = float32(r.NormFloat64()); r.IntN(5) == 0 {
				m.Data[i] = []float32{float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(-1)), 0}[r.IntN(4)]
			}
		}
		want := slices.Clone(m.Data)
		for i := range want {
			if cols > 3 {
				want[i] = median(m.Data[i/cols*cols:][:cols], i%cols)
			}
		}
		window := make([]float32, cols+7)
		for row := range slices.Chunk(m.Data, max(cols, 1)) {
			timing.Median(row, slices.Clone(row), window)
		}
		if !slices.EqualFunc(m.Data, want, func(a, b float32) bool { return a == b || a != a && b != b }) {
			t.Errorf("%d columns: %v, want %v", cols, m.Data, want)
		}
	}
}

// median returns the median of the seven elements around row[at].
func median(row []float32, at int) float32 {
	var window []float32
	for i := at - 3; i <= at+3; i++ {
		k := max(i, -i)
		if last := len(row) - 1; k > last {
			k = 2*last - k
		}
		window = append(window, row[k])
	}
	slices.SortFunc(window, func(a, b float32) int { return cmp.Compare(-b, -a) })
	return window[3]
}

// TestPath: paths by hand. Of equal costs the step to the right comes first.
func TestPath(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rows, cols int
		cost       []float32
		want       []timing.Step
	}{
		{"diagonal", 2, 2, []float32{0, 1, 1, 0}, []timing.Step{{0, 0}, {1, 1}}},
		{"stays", 2, 4, []float32{0, 0, 0, 1, 1, 1, 1, 0}, []timing.Step{{0, 0}, {0, 1}, {0, 2}, {1, 3}}},
		{"all equal", 2, 3, []float32{1, 1, 1, 1, 1, 1}, []timing.Step{{0, 0}, {1, 1}, {1, 2}}},
		{"one column", 3, 1, []float32{1, 2, 3}, []timing.Step{{0, 0}, {1, 0}, {2, 0}}},
		{"one row", 1, 3, []float32{1, 2, 3}, []timing.Step{{0, 0}, {0, 1}, {0, 2}}},
	} {
		if got := timing.Path(timing.Matrix{Rows: tt.rows, Cols: tt.cols, Data: tt.cost}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
