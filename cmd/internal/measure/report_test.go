package measure

import (
	"testing"

	"verity/eval/report"
)

// TestOverlaps: in a batch the times of utterances add up to more than went by.
func TestOverlaps(t *testing.T) {
	for _, tt := range []struct {
		elapsed, sum float64
		want         bool
	}{{3, 3, false}, {3.1, 3, false}, {1, 3, true}, {0, 0, false}} {
		s := &report.Score{}
		s.Elapsed = tt.elapsed
		s.Seconds.Total = tt.sum
		if got := s.Overlaps(); got != tt.want {
			t.Errorf("%v s by the clock, %v s in all: %v, want %v", tt.elapsed, tt.sum, got, tt.want)
		}
	}
}
