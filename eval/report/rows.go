package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"verity/internal/show"
	"verity/transcript"
)

// span formats an interval of rates.
func (i *Interval) span() string {
	if i == nil {
		return fmt.Sprintf("no interval: fewer than %d utterances", fewUtterances)
	}
	return fmt.Sprintf("%.0f %% interval %.2f to %.2f %%", 100*i.Level, 100*i.Low, 100*i.High)
}

// Short formats an interval for a table.
func (i *Interval) Short() string {
	if i == nil {
		return fmt.Sprintf("none: fewer than %d utterances", fewUtterances)
	}
	return fmt.Sprintf("%.2f – %.2f %%", 100*i.Low, 100*i.High)
}

// points formats a change of rates, and says if it may be none.
func (x *Change) points() string {
	s := fmt.Sprintf("%+.2f points", 100*x.Difference)
	i := x.Interval
	if i == nil {
		return s + "; " + i.span()
	}
	s += fmt.Sprintf(", %.0f %% interval %+.2f to %+.2f", 100*i.Level, 100*i.Low, 100*i.High)
	return s + textIf(i.Low <= 0 && 0 <= i.High, "; inconclusive: the interval contains 0")
}

// sentence states the verdict in words.
func (c *Comparison) sentence() string {
	all := show.Some(c.Utterances, "utterance")
	if c.Unpaired > 0 {
		all += " that both sets have"
	}
	switch c.Verdict {
	case Free:
		if c.foreign || c.runs.Baseline.ModelID != c.runs.Assisted.ModelID {
			return c.errorSentence(all)
		}
		s := fmt.Sprintf("%s of %s have the same tokens; texts may differ, since the runs do: %s",
			show.Count(c.Identical.Tokens), all, strings.Join(differences(c.runs.Baseline, c.runs.Assisted), ", "))
		if x := c.Divergence; x != nil {
			s += fmt.Sprintf(". %s of %s differ (%s)",
				show.Count(x.Differ), show.Some(x.Tokens, "token"), show.Percent(x.Share))
		}
		return s
	case Different:
		return fmt.Sprintf("%s of %s differ between the variants",
			show.Count(c.Different), show.Some(c.Identical.All+c.Different, "utterance"))
	case Inconclusive:
		if c.Utterances == 0 {
			return "inconclusive: no utterance has text in both"
		}
		return "inconclusive: nothing was drafted in " + all + ", so their equality proves nothing"
	}
	return all + " identical, to the bit"
}

// errorSentence states what a comparison of two models is for: the change of the word error rate over all utterances.
func (c *Comparison) errorSentence(all string) string {
	switch {
	case c.Scored == 0:
		return "texts alone, over " + all
	case c.Change == nil:
		return fmt.Sprintf("WER %s in both, and the same number of errors in every utterance, over %s",
			show.Percent(c.WER.Baseline), all)
	}
	return fmt.Sprintf("WER %s, over %s", c.Change.points(), all)
}

// A row is a line of a comparison: label and value.
type row = [2]string

// lines returns the comparison as labels and values.
func (c *Comparison) lines() (l []row) {
	add := func(label string, shown bool, value string) {
		if shown {
			l = append(l, row{label, value})
		}
	}
	name, b := c.Names, c.Batch
	other := c.foreign || c.runs.Baseline.ModelID != c.runs.Assisted.ModelID // the sentence has the change
	add("verdict", true, c.sentence())
	if c.Change != nil {
		add("WER change", !other, c.Change.points())
		for _, g := range c.Groups {
			add("  "+cmp.Or(g.Name, "(none)"), true, g.points())
		}
	}
	add("identical", !other, fmt.Sprintf("tokens %s, log-probabilities %s, segments %s, of %s", show.Count(c.Identical.Tokens),
		show.Count(c.Identical.LogProbs), show.Count(c.Identical.Segments), show.Count(c.Utterances)))
	if c.WER != nil {
		add("WER", true, fmt.Sprintf("%s %s, %s %s",
			show.Percent(c.WER.Baseline), name.Baseline, show.Percent(c.WER.Assisted), name.Assisted))
	}
	add("unpaired", c.Unpaired > 0, show.Some(c.Unpaired, "utterance")+" in one set only: shards of the other are missing")
	if !c.foreign {
		l = append(l, c.speeds()...)
	}
	add("batch", b.Size > 1, fmt.Sprintf("%d utterances at a time: %.1f tokens a second %s, %.1f %s",
		b.Size, b.TokensPerSecond.Baseline, name.Baseline, b.TokensPerSecond.Assisted, name.Assisted))
	add("acceptance", c.Acceptance.Drafted > 0, c.acceptance())
	add("rounds", c.Acceptance.Drafted > 0, c.rounds())
	if c.Predicted != nil {
		add("theory", true, show.Times(*c.Predicted)+" in decoding, from α and the times of passes and drafts measured")
	}
	add("break-even", c.BreakEven != nil, c.breakEven())
	return append(l, c.warnings()...)
}

func (c *Comparison) acceptance() string {
	a := c.Acceptance
	s := fmt.Sprintf("%.1f %% of %s drafted tokens, α %.3f%s, %.2f tokens a round",
		100*a.Rate, show.Count(a.Drafted), a.Agreement, number(", mean of Σ min(p, q) %.3f", a.Overlap), a.MeanKept)
	s += textIf(a.Runs != c.Utterances, ", in "+show.Some(a.Runs, "run"))
	return s + textIf(a.lost > 0,
		fmt.Sprintf("; the text was lost %s and found again %s", show.Some(a.lost, "time"), show.Some(a.found, "time")))
}

func (c *Comparison) breakEven() string {
	switch {
	case c.BreakEven == nil:
		return ""
	case *c.BreakEven >= 1:
		return "none: drafts of this length cannot pay here, even if all were right"
	}
	return fmt.Sprintf("drafts of this length pay here from %.0f %% right; %.0f %% were, "+
		"counted up to the first wrong token of each draft", 100**c.BreakEven, 100*c.Acceptance.Agreement)
}

// rounds returns the shares of rounds by accepted tokens, and of the passes of searches; nothing if nothing was drafted.
func (c *Comparison) rounds() string {
	a := c.Acceptance
	share := func(n int) float64 { return 100 * transcript.Ratio(float64(n), float64(a.Rounds)) }
	var parts []string
	searched := a.Rounds
	for accepted, n := range a.Histogram {
		searched -= n
		if accepted == 0 {
			n -= a.Empty
		}
		if n > 0 && a.Drafted > 0 {
			parts = append(parts, fmt.Sprintf("%d in %.0f %%", accepted, share(n)))
		}
	}
	return strings.Join(parts, ", ") + textIf(a.Empty > 0, fmt.Sprintf("; no draft in %.0f %%", share(a.Empty))) +
		textIf(searched > 0, fmt.Sprintf("; %.0f %% were passes of searches, which draft nothing", share(searched)))
}

// textIf returns the text, or nothing unless shown is true.
func textIf(shown bool, text string) string {
	if shown {
		return text
	}
	return ""
}

// rows returns the lines of the score table: a label, and a cell for each variant. Lines
// whose cells are all empty are left out.
func (d *Document) rows() (rows [][]string) {
	for i, s := range d.Scores {
		for at, line := range s.lines() {
			if i == 0 {
				rows = append(rows, line[:1])
			}
			rows[at] = append(rows[at], line[1])
		}
	}
	return slices.DeleteFunc(rows, func(r []string) bool { return strings.Join(r[1:], "") == "" })
}

// lines returns all lines of a score, as labels and cells.
func (s *Score) lines() (all [][]string) {
	add := func(label string, some bool, cell string) { all = append(all, []string{label, textIf(some, cell)}) }
	add("utterances", true, show.Count(s.Utterances))
	add("failed", s.Failed > 0, show.Count(s.Failed))
	shards := ""
	if s.Shards != nil {
		shards = fmt.Sprintf("%s of %s%s", show.Count(len(s.Shards.Present)), show.Count(s.Shards.Of),
			textIf(s.Shards.Incomplete() != "", ": INCOMPLETE"))
	}
	add("shards", true, shards)

	scored := s.Scored > 0
	add("word error rate (WER)", scored, show.Percent(s.WER))
	add("  95 % interval", scored, s.WERInterval.Short())
	add("character error rate (CER)", scored, show.Percent(s.CER))
	add("match error rate (MER)", scored, show.Percent(s.MER))
	add("word information lost (WIL)", scored, show.Percent(s.WIL))
	add("reference words", scored, show.Count(s.ReferenceWords))
	add("  substitutions", scored, show.Count(s.Substitutions))
	add("  deletions (not written)", scored, show.Count(s.Deletions))
	add("  insertions (not said)", scored,
		show.Count(s.Insertions)+textIf(s.ReferenceWords > 0, " ("+show.Percent(s.InsertionRate)+")"))
	add("five-word runs repeated", scored, show.Count(s.Repeats))
	add("utterances without error", scored,
		fmt.Sprintf("%s (%.1f %%)", show.Count(s.Exact), 100*transcript.Ratio(float64(s.Exact), float64(s.Scored))))

	s.Speakers.lines(add)

	add("audio", s.AudioSeconds > 0, show.Seconds(s.AudioSeconds))
	add("time elapsed", s.Elapsed != s.Seconds.Total, show.Seconds(s.Elapsed))
	add("time of work", s.Seconds.Total > 0, show.Seconds(s.Seconds.Total))
	add("speed (RTFx)", s.RTFx > 0, show.Times(s.RTFx)+" real time")
	add("time to first token", s.FirstToken > 0, show.Seconds(s.FirstToken))
	for _, stage := range stageNames {
		v := stage.of(s)
		add("  "+stage.label, v > 0, fmt.Sprintf("%s (%.0f %%)", show.Seconds(v), 100*transcript.Ratio(v, s.Seconds.Total)))
	}
	d := s.Drafting
	add("accepted drafts", d.Drafted > 0,
		fmt.Sprintf("%s of %s tokens (%.1f %%)", show.Count(d.Accepted), show.Count(d.Drafted), 100*d.Rate()))
	add("  of those judged (α)", s.Alpha != nil, number("%.3f", s.Alpha))
	add("  mean of Σ min(p, q)", d.Compared > 0, fmt.Sprintf("%.3f", d.MeanOverlap()))
	return all
}

// A stage is one part of the total time. The stages are in the order of the work and
// add up to the total time.
type stage struct {
	label, class string
	of           func(*Score) float64
}

var stageNames = []stage{
	{"reading and log-mel", "mel", func(s *Score) float64 { return s.Seconds.Mel }},
	{"encoder", "encode", func(s *Score) float64 { return s.Seconds.Encode }},
	{"keys and values", "cross", func(s *Score) float64 { return s.Seconds.CrossKV }},
	{"drafting", "draft", (*Score).drafting},
	{"prefill", "prefill", func(s *Score) float64 { return s.Seconds.Prefill }},
	{"decoder passes", "verify", func(s *Score) float64 { return s.Seconds.Verify - s.Seconds.Prefill }},
	{"rest of decoding", "decode", func(s *Score) float64 {
		return max(0, s.Seconds.Decode-s.drafting()-s.Seconds.Verify)
	}},
	{"the rest", "other", func(s *Score) float64 {
		t := s.Seconds
		return max(0, t.Total-t.Mel-t.Encode-t.CrossKV-t.Decode)
	}},
}

// drafting returns the time spent drafting, 0 if nothing was drafted.
func (s *Score) drafting() float64 {
	if s.Drafting.Drafted == 0 {
		return 0
	}
	return s.Seconds.Draft
}
