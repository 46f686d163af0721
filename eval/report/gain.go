package report

import (
	"fmt"
	"strings"

	"verity/internal/show"
	"verity/transcript"
)

// A speedNote describes a speed-up: its value, what it is based on, and why it is no result,
// empty if it is one.
type speedNote struct{ Value, Basis, Doubt string }

func (c *Comparison) speedNote(s Speedup) speedNote {
	g, pairs := speedNote{show.Times(s.Mean), "mean", c.doubt(s)}, len(c.decode)
	switch {
	case s.Median == 0:
		return speedNote{Basis: "not measured: nothing was decoded"}
	case s.Interval != nil:
		g.Basis += fmt.Sprintf(" (95 %% interval %s to %s)", show.Times(s.Interval[0]), show.Times(s.Interval[1]))
	case pairs == 1:
		return speedNote{show.Times(s.Overall), "(one pair)", g.Doubt}
	default:
		g.Basis += fmt.Sprintf(" (%s, too few for an interval)", show.Some(pairs, "pair"))
	}
	return g
}

// summary returns in one sentence what drafts changed: empty unless a variant with an assistant is compared with the same
// model without one.
func (c *Comparison) summary() string {
	name, total := shortName(c.runs.Assisted.Assistant), c.Speedup.Total
	if c.Verdict != Identical || name == "" || c.runs.Baseline.Assistant != "" || total.Median == 0 {
		return ""
	}
	result := "make no difference that could be measured"
	switch g, decode := c.speedNote(total), c.speedNote(c.Speedup.Decode); {
	case g.Doubt == "" && total.Mean < 1:
		result = "cost time here: " + g.Value + " as fast from audio to text"
	case g.Doubt == "":
		result = "save time: " + g.Value + " as fast from audio to text"
	case decode.Doubt == "":
		result = "make decoding " + decode.Value + " as fast, and from audio to text no difference that could be measured"
	}
	return fmt.Sprintf("Drafts (%s) %s; the text is the same, to the bit", name, result)
}

// doubt says why a speed-up is no result; empty if it is one.
func (c *Comparison) doubt(s Speedup) string {
	switch {
	case s.Median == 0:
		return ""
	case c.Verdict == Inconclusive && c.sameWork():
		return "noise: both variants did the same work"
	case s.Interval == nil:
		return "inconclusive: too few pairs"
	case s.Interval[0] <= 1 && 1 <= s.Interval[1]:
		return "inconclusive: the interval contains 1"
	}
	return ""
}

// cell spells a speed-up for a table; nothing if it was not measured.
func (c *Comparison) cell(s Speedup) string {
	var notes []string
	if i := s.Interval; i != nil {
		notes = append(notes, show.Times(i[0])+" to "+show.Times(i[1]))
	}
	if doubt, _, _ := strings.Cut(c.doubt(s), ":"); doubt != "" {
		notes = append(notes, doubt)
	}
	return c.speedNote(s).Value + textIf(notes != nil, " ("+strings.Join(notes, ", ")+")")
}

// sameWork reports whether the variants run the same network in the same way, so that their
// encoders do the same.
func (c *Comparison) sameWork() bool {
	a, b := c.runs.Baseline, c.runs.Assisted
	return c.Verdict != Free && a.Program == b.Program && a.ModelID == b.ModelID &&
		a.Precision == b.Precision && a.Machine == b.Machine && a.Threads == b.Threads
}

// noise returns the time of encoding in the baseline over that in the assisted variant, the
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
		g := c.speedNote(x.Speedup)
		l = append(l, row{x.name, strings.TrimSpace(g.Value+" "+g.Basis) + textIf(g.Doubt != "", "; "+g.Doubt)})
	}
	return l
}

// warnings returns what limits the speed-ups, as lines of label and value.
func (c *Comparison) warnings() (l []row) {
	if n := c.noise(); n > 0 && c.Speedup.Decode.Median > 0 {
		l = append(l, row{"noise", show.Times(n) + " in encoding, which is the same work in both variants"})
	}
	if n := len(c.decode); n > 0 && n < fewPairs {
		l = append(l, row{"few pairs", show.Count(n) + ": repeat each variant more often, or use more utterances"})
	}
	return l
}

// fewPairs is the fewest pairs of runs that a speed-up should rest on.
const fewPairs = 5
