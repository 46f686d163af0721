package report

import (
	"math"
	"reflect"
	"testing"

	"verity/transcript"
)

// TestMeanInterval: by hand, with t = 3.182446 of the tables for three degrees of
// freedom, which the mean of four logarithms has.
func TestMeanInterval(t *testing.T) {
	mean, interval := meanInterval([]float64{0.9, 1, 1.1, 1.2})
	for _, x := range [][2]float64{{mean, 0.04306781}, {interval[0], -0.15398421}, {interval[1], 0.24011982}} {
		if !(math.Abs(math.Log(x[0])-x[1]) < 1e-6) {
			t.Errorf("log %v = %.8f, want %.8f", x[0], math.Log(x[0]), x[1])
		}
	}
	if mean, interval := meanInterval([]float64{2, 0.5}); interval != nil || math.Abs(mean-1) > 1e-12 {
		t.Errorf("of two: %v, %v", mean, interval)
	}
}

// TestDraftedInARepetition: the record kept of an utterance may be a run without a
// draft; equality is proven by the others too, and what they accepted is shown.
func TestDraftedInARepetition(t *testing.T) {
	a, _ := NewSet("a", "basic")
	b, _ := NewSet("b", "basic")
	p := NewPairs(a, b)
	p.Timed = true
	x, y := &Record{ID: "x", Hypothesis: "x", Work: transcript.Work{Tokens: 6}}, &Record{ID: "x", Hypothesis: "x", Work: transcript.Work{Tokens: 6}}
	drafting := *y
	drafting.Drafting = transcript.Drafts{Rounds: 2, Drafted: 2, Accepted: 1, Refused: 1, Tokens: 3, Histogram: []int{1, 1}}
	second := Pair[float64]{2, 1}
	p.Time(1, []*Record{x}, []*Record{y}, second, second)
	p.Time(1, []*Record{x}, []*Record{&drafting}, second, second)
	pair(t, p, x, y)
	c := p.Comparison()
	if c.Verdict != Identical || c.Batch.TokensPerSecond != (Pair[float64]{3, 6}) || c.Batch.Pairs != 2 {
		t.Errorf("%s, %+v", c.Verdict, c.Batch)
	}
	want := Acceptance{Runs: 2, Drafted: 2, Accepted: 1, Rate: 0.5, Agreement: 0.5, Rounds: 2, Histogram: []int{1, 1}, MeanKept: 1.5}
	if !reflect.DeepEqual(c.Acceptance, want) {
		t.Errorf("acceptance %+v, want %+v", c.Acceptance, want)
	}
}
