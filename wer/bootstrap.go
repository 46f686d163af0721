package wer

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// An Interval contains 95 % of the rates, or differences between rates, of a thousand samples
// of the utterances, drawn with replacement. The samples are the same in every run.
//
// Utterances are drawn, not words, since errors within an utterance are not independent. The
// ends are percentiles, interpolated linearly. Without utterances the interval is {0, 0}.
//
// Source: Bisani & Ney, "Bootstrap estimates for confidence intervals in ASR
// performance evaluation", ICASSP 2004.
type Interval struct{ Low, High float64 }

// Interval returns the interval of c.Words.Rate. It does not depend on the order of
// utterances.
func (c *Corpus) Interval() Interval {
	var all []Bin
	for _, t := range slices.SortedFunc(maps.Keys(c.Bins), func(x, y Bin) int {
		return cmp.Or(cmp.Compare(x.Errors, y.Errors), cmp.Compare(x.Ref, y.Ref))
	}) {
		all = append(all, slices.Repeat([]Bin{t}, c.Bins[t])...)
	}
	return draw(len(all), func(pick func() int) float64 {
		errors, ref := 0, 0
		for range all {
			u := all[pick()]
			errors, ref = errors+int(u.Errors), ref+int(u.Ref)
		}
		return rate(errors, ref)
	})
}

// Difference returns the interval of system's corpus rate minus baseline's, over the same
// utterances. Both rates use the same samples, so it is far narrower than the intervals of the
// two rates suggest. If it excludes 0, the systems differ.
func Difference(system, baseline []Counts) Interval {
	n := len(system)
	return draw(n, func(pick func() int) float64 {
		var s, b Counts
		for range n {
			i := pick()
			s, b = s.Plus(system[i]), b.Plus(baseline[i])
		}
		return s.Rate() - b.Rate()
	})
}

// draw draws n utterances a thousand times and returns the percentiles of value.
func draw(n int, value func(pick func() int) float64) Interval {
	if n == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(0, 0x776572)) // "wer": differs from other users of the seed
	pick := func() int { return int(rng.Uint32N(uint32(n))) }
	values := make([]float64, 1000)
	for i := range values {
		values[i] = value(pick)
	}
	slices.Sort(values)
	level := 0.95
	tail := (1 - level) / 2
	return Interval{
		Low:  stat.Quantile(tail, stat.LinInterp, values, nil),
		High: stat.Quantile(1-tail, stat.LinInterp, values, nil),
	}
}
