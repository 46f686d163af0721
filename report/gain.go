package report

import (
	"fmt"
	"math"

	"verity/internal/show"
	"verity/transcript"
)

// gain spells a speed-up of some pairs of runs. One or two pairs have no interval.
func (s Speedup) gain(pairs int) string {
	switch {
	case s.Median == 0:
		return "not measured: nothing was decoded"
	case s.Interval != nil:
		return fmt.Sprintf("%s mean (95 %% interval %s to %s)",
			show.Times(s.Mean), show.Times(s.Interval[0]), show.Times(s.Interval[1]))
	case pairs == 1:
		return show.Times(s.Overall) + " (one pair)"
	}
	return fmt.Sprintf("%s mean (%s, too few for an interval)", show.Times(s.Mean), show.Some(pairs, "pair"))
}

// spread spells how a speed-up is distributed over pairs of runs; empty without an
// interval, since so few have no distribution.
func (s Speedup) spread() string {
	if s.Interval == nil {
		return ""
	}
	return fmt.Sprintf("median %s, 5 to 95 %% of them %s to %s; %s in all",
		show.Times(s.Median), show.Times(s.Low), show.Times(s.High), show.Times(s.Overall))
}

// doubt says why a speed-up is no result; empty if it is one.
func (c *Comparison) doubt(s Speedup) string {
	switch noise := c.noise(); {
	case s.Median == 0:
		return ""
	case c.Verdict == Inconclusive && c.sameWork():
		return "noise: both arms did the same work"
	case s.Interval != nil && s.Interval[0] <= 1 && 1 <= s.Interval[1]:
		return "inconclusive: the interval contains 1"
	case s.Interval == nil && noise > 0 && distance(s.Overall) <= distance(noise):
		return "inconclusive: not more than the noise"
	}
	return ""
}

// distance tells how far a ratio is from 1, in either direction.
func distance(ratio float64) float64 { return math.Abs(math.Log(ratio)) }

// sameWork reports whether the arms run the same network in the same way, so that their
// encoders do the same.
func (c *Comparison) sameWork() bool {
	a, b := c.runs.Baseline, c.runs.Assisted
	return c.Verdict != Free && a.Program == b.Program && a.ModelID == b.ModelID &&
		a.Precision == b.Precision && a.Machine == b.Machine && a.Threads == b.Threads
}

// noise returns the time of encoding in the baseline over that in the assisted arm, the
// same work in both: how far it is from 1 shows what else the machine had to do. 0 means
// unknown. In batches, times of encoding overlap with other work.
func (c *Comparison) noise() float64 {
	e := c.Seconds.Encode
	if !c.sameWork() || c.Batch.Size > 1 || e.Baseline <= 0 || e.Assisted <= 0 {
		return 0
	}
	return transcript.Ratio(e.Baseline, e.Assisted)
}

// speeds returns the speed-ups as lines of label and value.
func (c *Comparison) speeds() (l []row) {
	for _, x := range []struct {
		name string
		Speedup
	}{{"decoding", c.Speedup.Decode}, {"sound to text", c.Speedup.Total}} {
		text := x.gain(len(c.decode))
		if doubt := c.doubt(x.Speedup); doubt != "" {
			text += "; " + doubt
		}
		l = append(l, row{x.name, text})
		if spread := x.spread(); spread != "" {
			l = append(l, row{"  pairs", spread})
		}
	}
	return l
}

// warnings returns what limits the speed-ups, as lines of label and value.
func (c *Comparison) warnings() (l []row) {
	if n := c.noise(); n > 0 && c.Speedup.Decode.Median > 0 {
		l = append(l, row{"noise", show.Times(n) + " in encoding, which is the same work in both arms"})
	}
	if n := len(c.decode); n > 0 && n < fewPairs {
		l = append(l, row{"few pairs", show.Count(n) + ": use --repeats, or more utterances"})
	}
	return l
}

// fewPairs is the fewest pairs of runs that a speed-up should rest on.
const fewPairs = 5

// few returns a warning for a speed-up that rests on too few pairs.
func few(c *Comparison) string {
	n := len(c.decode)
	if n == 0 || n >= fewPairs {
		return ""
	}
	return fmt.Sprintf("Speed-ups are of %s of runs: another run may well say something else. "+
		"Use --repeats, or more utterances.", show.Some(n, "pair"))
}

// loud is the ratio of times of the same work from which the page warns of noise.
const loud = 1.05

// noisy returns a warning if the machine had other work to do.
func noisy(c *Comparison) string {
	n := c.noise()
	if n <= 0 || distance(n) < math.Log(loud) {
		return ""
	}
	return fmt.Sprintf("The machine had other work: encoding, the same in both arms, took %s as long in the baseline. "+
		"Speed-ups of that size mean nothing.", show.Times(n))
}

// A gainView is a speed-up on the page.
type gainView struct {
	Value string
	Sure  bool     // it is a result
	Notes []string // what it rests on
}

func (c *Comparison) gainView(s Speedup) gainView {
	doubt := c.doubt(s)
	v := gainView{Value: show.Times(s.Mean), Sure: doubt == ""}
	switch {
	case s.Median == 0:
		return gainView{Value: "–", Notes: []string{"not measured"}}
	case s.Interval != nil:
		v.Notes = []string{hard(fmt.Sprintf("mean; 95 %% interval %s to %s", show.Times(s.Interval[0]), show.Times(s.Interval[1])))}
	default:
		v.Notes = []string{"of too few pairs for an interval"}
	}
	if doubt != "" {
		v.Notes = append(v.Notes, doubt)
	}
	return v
}
