package wer

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Bootstrap says how to compute a confidence interval by drawing utterances with
// replacement. The zero value has the defaults; the same seed gives the same interval.
type Bootstrap struct {
	Resamples int     // how often a corpus is drawn; 0 or less means 1000
	Level     float64 // share of resamples the interval holds; 0.95 unless it is between 0 and 1
	Seed      uint64  // selects the draws
}

// An Interval is a range of rates, or of differences between rates.
type Interval struct{ Low, High float64 }

// rate returns the interval of the corpus rate of some utterances. It is {0, 0} if there
// are none.
//
// The unit drawn is the utterance, since errors within one are not independent. The
// interval is that of percentiles, interpolated linearly. It does not depend on the order
// of utterances: the parts of a corpus, merged in any order, have the same.
//
// Source: Bisani & Ney, "Bootstrap estimates for confidence intervals in ASR
// performance evaluation", ICASSP 2004.
func (b Bootstrap) rate(bins Bins) Interval {
	all := make([]Bin, 0, len(bins))
	for _, t := range slices.SortedFunc(maps.Keys(bins), func(x, y Bin) int {
		return cmp.Or(cmp.Compare(x.Errors, y.Errors), cmp.Compare(x.Ref, y.Ref))
	}) {
		all = append(all, slices.Repeat([]Bin{t}, bins[t])...)
	}
	return b.interval(len(all), func(pick func() int) float64 {
		errors, ref := 0, 0
		for range all {
			u := all[pick()]
			errors, ref = errors+int(u.Errors), ref+int(u.Ref)
		}
		return rate(errors, ref)
	})
}

// Difference returns the interval of system's corpus rate minus baseline's. It draws the
// same utterances for both, so it is far narrower than the intervals of the two rates suggest.
// If it excludes 0, the systems differ. Utterances that only one of them has are left
// out.
func (b Bootstrap) Difference(system, baseline []Counts) Interval {
	n := min(len(system), len(baseline))
	s, o := binsOf(system[:n]), binsOf(baseline[:n])
	return b.interval(len(s), func(pick func() int) float64 {
		var se, sr, oe, or int
		for range s {
			i := pick()
			se, sr = se+int(s[i].Errors), sr+int(s[i].Ref)
			oe, or = oe+int(o[i].Errors), or+int(o[i].Ref)
		}
		return rate(se, sr) - rate(oe, or)
	})
}

// interval draws n utterances at a time and returns the percentiles of value.
func (b Bootstrap) interval(n int, value func(pick func() int) float64) Interval {
	if n == 0 {
		return Interval{}
	}
	if b.Resamples <= 0 {
		b.Resamples = 1000
	}
	if !(b.Level > 0 && b.Level < 1) {
		b.Level = 0.95
	}
	rng := rand.New(rand.NewPCG(b.Seed, 0x776572)) // "wer": differs from other users of the seed
	pick := func() int { return int(rng.Uint32N(uint32(n))) }
	values := make([]float64, b.Resamples)
	for i := range values {
		values[i] = value(pick)
	}
	slices.Sort(values)
	tail := (1 - b.Level) / 2
	return Interval{
		Low:  stat.Quantile(tail, stat.LinInterp, values, nil),
		High: stat.Quantile(1-tail, stat.LinInterp, values, nil),
	}
}

func binsOf(counts []Counts) []Bin {
	t := make([]Bin, len(counts))
	for i, c := range counts {
		t[i] = binOf(c)
	}
	return t
}
