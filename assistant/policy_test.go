package assistant

import (
	"math"
	"testing"
)

// TestHeuristic checks that drafts grow by two tokens after one that was accepted whole,
// shrink by one, to at least one, after any other, and stay after a round without a
// draft.
func TestHeuristic(t *testing.T) {
	h := Heuristic(0)
	for i, step := range []struct{ drafted, accepted, want int }{
		{5, 5, 7}, {7, 6, 6}, {6, 0, 5}, {0, 0, 5}, {5, 4, 4}, {4, 0, 3}, {3, 0, 2}, {2, 0, 1}, {1, 0, 1}, {1, 1, 3},
	} {
		if h.Observe(Round{Drafted: step.drafted, Accepted: step.accepted}); h.Length() != step.want {
			t.Fatalf("round %d, %+v: drafts of %d", i, step, h.Length())
		}
	}
	for range 20 {
		h.Observe(Round{Drafted: 1, Accepted: 1})
	}
	if h.Length() != 20 {
		t.Errorf("always right: drafts of %d, want 20 at most", h.Length())
	}
}

// TestConfidence checks that a token below the threshold is still drafted, and none after
// it.
func TestConfidence(t *testing.T) {
	c := Confidence(0)
	for p, want := range map[float64]bool{0.41: true, 0.39: false} {
		if more := c.More(3, float32(math.Log(p))); more != want {
			t.Errorf("a token of %v: more %t", p, more)
		}
	}
	if n, most := c.Length(), Confidence(3).Length(); n != 20 || most != 3 {
		t.Errorf("drafts of %d and %d at most, want 20 and 3", n, most)
	}
}
