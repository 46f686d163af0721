package audio

import (
	"math"
	"slices"
	"testing"
)

// TestWithBins: the 80 bins made of 128 are close to those that the sound itself gives.
func TestWithBins(t *testing.T) {
	window := func(bins int) *Mel {
		clip, err := Open(t.Context(), "../model/base/jfk.flac")
		if err != nil {
			t.Fatal(err)
		}
		defer clip.Close()
		s, err := NewSpectrogram(t.Context(), clip, Options{Bins: bins})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Window(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	want, got := window(80), window(128).WithBins(80)
	if got.Bins != 80 || got.Frames != want.Frames {
		t.Fatalf("got %d × %d, want 80 × %d", got.Bins, got.Frames, want.Frames)
	}
	cells, sum, floor := 0, 0.0, slices.Min(want.Data)
	for i, w := range want.Data {
		if d := math.Abs(float64(got.Data[i] - w)); w > floor+0.05 {
			cells, sum = cells+1, sum+d
		}
	}
	if mean := sum / float64(cells); cells < len(want.Data)/4 || !(mean < 0.004) {
		t.Errorf("%d cells of speech are off by %.4f on average, want less than 0.004", cells, mean)
	}
	if same := want.WithBins(80); same != want {
		t.Error("with as many bins: got a copy")
	}
}
