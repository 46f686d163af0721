package report

import (
	"errors"
	"strings"
	"testing"
)

// TestGain: what is written of a speed-up depends on how many pairs it rests on, and one
// that may be none is not written as a result.
func TestGain(t *testing.T) {
	of := func(quotients ...float64) Speedup {
		return speedup(quotients, Pair[float64]{quotients[0], 1})
	}
	for _, tt := range []struct {
		name      string
		quotients []float64
		noise     float64 // of encoding
		gain      string
		doubt     string
	}{
		{"one pair", []float64{1.1}, 1, "1.10× (one pair)", "inconclusive: too few pairs"},
		{"one pair, less than the noise", []float64{1.1}, 1.2, "1.10× (one pair)", "inconclusive: too few pairs"},
		{"one pair, noise the other way", []float64{1.1}, 0.8, "1.10× (one pair)", "inconclusive: too few pairs"},
		{"a loss, more than the noise", []float64{0.5}, 0.9, "0.50× (one pair)", "inconclusive: too few pairs"},
		{"two pairs", []float64{1.1, 1.1}, 1, "1.10× mean (2 pairs, too few for an interval)", "inconclusive: too few pairs"},
		{"three pairs, far apart", []float64{2.4, 1.2, 0.9}, 1, "1.37× mean (95 % interval 0.39× to 4.81×)", "inconclusive: the interval contains 1"},
		{"three pairs, alike", []float64{2, 2.1, 2.2}, 3, "2.10× mean (95 % interval 1.86× to 2.36×)", ""},
		{"a loss", []float64{0.5, 0.51, 0.52}, 1, "0.51× mean (95 % interval 0.49× to 0.54×)", ""},
	} {
		s, c := of(tt.quotients...), &Comparison{Verdict: Identical, decode: tt.quotients}
		c.Seconds.Encode = Pair[float64]{tt.noise, 1}
		if g := c.speedNote(s); g.Value+" "+g.Basis != tt.gain || g.Doubt != tt.doubt {
			t.Errorf("%s: %q, want %q", tt.name, g, tt.gain)
		}
		if got := c.doubt(s); got != tt.doubt {
			t.Errorf("%s: doubt %q, want %q", tt.name, got, tt.doubt)
		}
		c.Verdict = Inconclusive
		if got, want := c.doubt(s), "noise: both variants did the same work"; got != want {
			t.Errorf("%s, nothing drafted: doubt %q, want %q", tt.name, got, want)
		}
	}
	c := new(Comparison)
	if got := c.speedNote(c.Speedup.Decode); got != (speedNote{Basis: "not measured: nothing was decoded"}) {
		t.Errorf("no time: %q", got)
	}
}

// TestSameWork: noise is known only where both variants encode the same by the same means.
func TestSameWork(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *Comparison)
		want   float64
	}{
		{"the same", func(*Comparison) {}, 2},
		{"another assistant", func(c *Comparison) { c.runs.Assisted.Assistant = "self" }, 2},
		{"another model", func(c *Comparison) { c.runs.Assisted.ModelID = "b" }, 0},
		{"another precision", func(c *Comparison) { c.runs.Assisted.Precision = "int8" }, 0},
		{"another machine", func(c *Comparison) { c.runs.Assisted.Machine = "b" }, 0},
		{"other threads", func(c *Comparison) { c.runs.Assisted.Threads = 2 }, 0},
		{"another version", func(c *Comparison) { c.runs.Assisted.Program = "b" }, 0},
		{"variants that may differ", func(c *Comparison) { c.Verdict = Free }, 0},
		{"batches", func(c *Comparison) { c.Batch.Size = 2 }, 0},
		{"no time", func(c *Comparison) { c.Seconds.Encode.Assisted = 0 }, 0},
	} {
		c := &Comparison{Verdict: Identical}
		c.Seconds.Encode = Pair[float64]{2, 1}
		tt.change(c)
		if got := c.noise(); got != tt.want {
			t.Errorf("%s: noise %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestWarnings: a report says that a speed-up rests on few pairs, that it may be none, and how busy the machine was.
func TestWarnings(t *testing.T) {
	shaky := compared(t, 3, func(r []*Record) {
		r[1].Seconds.Decode *= 20
		for _, r := range r {
			r.Seconds.Encode *= 2
		}
	})
	quiet := compared(t, 40, nil)
	for _, want := range []string{"inconclusive: the interval contains 1", "0.50× in encoding, which is the same work in both variants", "3: repeat each variant"} {
		for d, has := range map[*Document]bool{shaky: true, quiet: false} {
			var text, page strings.Builder
			if err := errors.Join(d.Text(&text, false), d.HTML(&page)); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), want) != has || strings.Contains(page.String(), want) != has {
				t.Errorf("%q: want %v in text and page of %d utterances", want, has, d.Scores[0].Utterances)
			}
		}
	}
}

// TestChangeInterval: a difference of error rates whose interval contains 0 is none.
func TestChangeInterval(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		doubt     bool
	}{{-0.01, 0.02, true}, {0, 0.02, true}, {0.001, 0.02, false}, {-0.02, -0.001, false}} {
		x := &Change{(tt.low + tt.high) / 2, &Interval{tt.low, tt.high, 0.95}}
		if got := strings.Contains(x.points(), "inconclusive"); got != tt.doubt {
			t.Errorf("%v to %v: %q", tt.low, tt.high, x.points())
		}
	}
}
