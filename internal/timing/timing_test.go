package timing_test

import (
	"math"
	"slices"
	"testing"

	"verity/internal/timing"
)

// TestMedian: by hand, with NaN last as torch sorts.
func TestMedian(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name    string
		in, out []float32
		width   int
	}{
		{"reflected", []float32{9, 1, 5, 2, 8}, []float32{1, 5, 2, 5, 2}, 3},
		{"too short", []float32{3, 1, 2}, []float32{3, 1, 2}, 7},
		{"just long enough", []float32{1, 2, 3, 4}, []float32{3, 3, 2, 2}, 7},
		{"not a number", []float32{nan, 1, nan, 2, 3}, []float32{1, nan, 2, 3, 2}, 3},
	} {
		got := timing.Median(timing.Matrix{Rows: 1, Cols: len(tt.in), Data: slices.Clone(tt.in)}, tt.width).Data
		if !slices.EqualFunc(got, tt.out, func(a, b float32) bool { return a == b || a != a && b != b }) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.out)
		}
	}
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
