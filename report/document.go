package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"verity/internal/show"
	"verity/transcript"
)

// Schema is the schema field of a report's JSON.
const Schema = "verity.report/1"

// A Document is what a report shows: the scores of one or more sets, and the
// comparisons of the first with the others.
type Document struct {
	Title       string // empty means Verity report
	Scores      []*Score
	Comparisons []*Comparison
	Arms        []*Arm // for a comparison of several arms

	// Defaults are the values that options of runs have if nobody sets them, by name: the
	// page folds them away. An option that is not among them is shown.
	Defaults map[string]string

	// Sound returns the address of a record's sound for the page to play: a file beside
	// the page, or a data URL. An empty address means no sound for that record, a nil
	// Sound none at all.
	Sound func(*Record) string
}

// JSON writes d on one line. With one score, its fields are those of the object. With
// more, they are in "sets" and all comparisons in "comparisons". Arms have their own
// schema.
func (d *Document) JSON(w io.Writer) error {
	if d.Arms != nil {
		return d.armsJSON(w)
	}
	type one struct {
		Schema string `json:"schema"`
		*Score
	}
	type several struct {
		one
		Sets        []*Score      `json:"sets"`
		Comparisons []*Comparison `json:"comparisons"`
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	first := one{Schema, d.Scores[0]}
	if len(d.Scores) == 1 {
		return e.Encode(first)
	}
	return e.Encode(several{first, d.Scores, d.Comparisons})
}

// JSON writes c on one line.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(c)
}

// notes returns what a reader must know before the numbers.
func (d *Document) notes() (notes []string) {
	for _, s := range d.Scores {
		if s.Run.Planted {
			notes = append(notes, "The model is planted: it says the same text whatever it hears. "+
				"Times and acceptance mean something, error rates do not.")
			break
		}
	}
	for _, s := range d.Scores {
		if lacking := s.Incomplete(); lacking != "" {
			notes = append(notes, "Incomplete: "+s.Name+": "+lacking+". These figures are of the rest alone.")
		}
	}
	return notes
}

// span formats an interval of rates.
func (i Interval) span() string {
	return fmt.Sprintf("%.0f %% interval %.2f to %.2f %%", 100*i.Level, 100*i.Low, 100*i.High)
}

// sentence states the verdict in words.
func (c *Comparison) sentence() string {
	all := show.Some(c.Utterances, "utterance")
	if c.Unpaired > 0 {
		all += " of those that both have"
	}
	switch c.Verdict {
	case Free:
		return fmt.Sprintf("%s of %s differ (%s); %s of %s have the same tokens. "+
			"The arms hold different weights, so their texts may differ",
			show.Count(c.Divergence.Differ), show.Some(c.Divergence.Tokens, "token"), show.Percent(c.Divergence.Share),
			show.Count(c.Identical.Tokens), all)
	case Different:
		return fmt.Sprintf("%s of %s differ between the arms",
			show.Count(c.Different), show.Some(c.Identical.All+c.Different, "utterance"))
	case Inconclusive:
		if c.Utterances == 0 {
			return "inconclusive: no utterance has text in both"
		}
		return "inconclusive: nothing was drafted in " + all + ", so their equality proves nothing"
	}
	return all + " identical, to the bit"
}

// rows returns the lines of the score table: a label, and a cell for each set.
func (d *Document) rows() [][]string {
	t := &scoreTable{scores: d.Scores}
	t.counts()
	t.errors()
	t.times()
	t.row("accepted drafts", func(s *Score) string {
		if s.Drafting.Drafted == 0 {
			return ""
		}
		return fmt.Sprintf("%s of %s tokens (%.1f %%)",
			show.Count(s.Drafting.Accepted), show.Count(s.Drafting.Drafted), 100*s.Drafting.Rate())
	})
	return t.rows
}

// A scoreTable collects the rows of a score table.
type scoreTable struct {
	scores []*Score
	rows   [][]string
}

// row adds a row unless all of its cells are empty.
func (t *scoreTable) row(label string, cell func(s *Score) string) {
	r := []string{label}
	some := false
	for _, s := range t.scores {
		c := cell(s)
		some = some || c != ""
		r = append(r, c)
	}
	if some {
		t.rows = append(t.rows, r)
	}
}

// scored adds a row whose cells are empty for sets without a scored utterance.
func (t *scoreTable) scored(label string, cell func(s *Score) string) {
	t.row(label, func(s *Score) string {
		if s.Scored == 0 {
			return ""
		}
		return cell(s)
	})
}

func (t *scoreTable) counts() {
	t.row("utterances", func(s *Score) string { return show.Count(s.Utterances) })
	t.row("failed", func(s *Score) string {
		if s.Failed == 0 {
			return ""
		}
		return show.Count(s.Failed)
	})
	t.row("shards", func(s *Score) string {
		if s.Shards == nil {
			return ""
		}
		text := fmt.Sprintf("%s of %s", show.Count(len(s.Shards.Present)), show.Count(s.Shards.Of))
		if s.Incomplete() != "" {
			text += ": INCOMPLETE"
		}
		return text
	})
}

func (t *scoreTable) errors() {
	t.scored("word error rate (WER)", func(s *Score) string { return show.Percent(s.WER) })
	t.scored("  95 % interval", func(s *Score) string {
		return fmt.Sprintf("%.2f – %.2f %%", 100*s.WERInterval.Low, 100*s.WERInterval.High)
	})
	t.scored("character error rate (CER)", func(s *Score) string { return show.Percent(s.CER) })
	t.scored("match error rate (MER)", func(s *Score) string { return show.Percent(s.MER) })
	t.scored("word information lost (WIL)", func(s *Score) string { return show.Percent(s.WIL) })
	t.scored("reference words", func(s *Score) string { return show.Count(s.ReferenceWords) })
	t.scored("  substitutions", func(s *Score) string { return show.Count(s.Substitutions) })
	t.scored("  deletions (not written)", func(s *Score) string { return show.Count(s.Deletions) })
	t.scored("  insertions (not said)", func(s *Score) string {
		if s.ReferenceWords == 0 {
			return show.Count(s.Insertions)
		}
		return fmt.Sprintf("%s (%s)", show.Count(s.Insertions), show.Percent(s.InsertionRate))
	})
	t.scored("five-word runs repeated", func(s *Score) string { return show.Count(s.Repeats) })
	t.scored("utterances without error", func(s *Score) string {
		return fmt.Sprintf("%s (%.1f %%)", show.Count(s.Exact),
			100*transcript.Ratio(float64(s.Exact), float64(s.Scored)))
	})
}

func (t *scoreTable) times() {
	t.row("audio", func(s *Score) string { return show.Seconds(s.AudioSeconds) })
	t.row("time elapsed", func(s *Score) string {
		if s.Elapsed == s.Seconds.Total {
			return ""
		}
		return show.Seconds(s.Elapsed)
	})
	t.row("time of work", func(s *Score) string { return show.Seconds(s.Seconds.Total) })
	t.row("speed (RTFx)", func(s *Score) string { return show.Times(s.RTFx) + " real time" })
	for _, stage := range stageNames {
		t.row("  "+stage.label, func(s *Score) string {
			if v := stage.of(s); v > 0 {
				return fmt.Sprintf("%s (%.0f %%)", show.Seconds(v), 100*transcript.Ratio(v, s.Seconds.Total))
			}
			return ""
		})
	}
}

// A stage is one part of the total time. The stages are in the order of the work and
// add up to the whole.
type stage struct {
	label, class string
	of           func(*Score) float64
}

var stageNames = []stage{
	{"reading and log-mel", "mel", func(s *Score) float64 { return s.Seconds.Mel }},
	{"encoder", "encode", func(s *Score) float64 { return s.Seconds.Encode }},
	{"keys and values", "cross", func(s *Score) float64 { return s.Seconds.CrossKV }},
	{"drafting", "draft", (*Score).drafting},
	{"decoder passes", "verify", func(s *Score) float64 { return s.Seconds.Verify }},
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

// labels returns the names of the two arms; the arms' own names if there are several.
func (c *Comparison) labels() Pair[string] {
	if c.arm > 0 {
		return c.Names
	}
	return Pair[string]{"baseline", "assisted"}
}

// points formats a change of rates, and says if it may be none.
func (x *Change) points() string {
	s := fmt.Sprintf("%+.2f points, %.0f %% interval %+.2f to %+.2f",
		100*x.Difference, 100*x.Level, 100*x.Low, 100*x.High)
	if x.Low <= 0 && 0 <= x.High {
		s += "; inconclusive: the interval contains 0"
	}
	return s
}

// lines returns the comparison as labels and values.
func (c *Comparison) lines() [][2]string {
	name := c.labels()
	l := [][2]string{
		{"verdict", c.sentence()},
		{"identical", fmt.Sprintf("tokens %s, log-probabilities %s, segments %s, of %s", show.Count(c.Identical.Tokens),
			show.Count(c.Identical.LogProbs), show.Count(c.Identical.Segments), show.Count(c.Utterances))},
	}
	if c.WER != nil {
		l = append(l, [2]string{"WER", fmt.Sprintf("%s %s, %s %s",
			show.Percent(c.WER.Baseline), name.Baseline, show.Percent(c.WER.Assisted), name.Assisted)})
		if x := c.Change; x != nil {
			l = append(l, [2]string{"WER change", x.points()})
		}
		l = append(l, [2]string{"not worse", fmt.Sprintf("%.1f %% (%s of %s)",
			100*transcript.Ratio(float64(c.NotWorse), float64(c.Scored)),
			show.Count(c.NotWorse), show.Some(c.Scored, "utterance"))})
	}
	if c.Unpaired > 0 {
		l = append(l, [2]string{"unpaired", show.Some(c.Unpaired, "utterance") +
			" in one set only: the other lacks shards"})
	}
	l = append(l, c.speeds()...)
	l = append(l, c.clock()...)
	if a := c.Acceptance; a.Drafted > 0 {
		l = append(l, [2]string{"acceptance", fmt.Sprintf("%.1f %% of %s drafted tokens, %.2f tokens a round%s",
			100*a.Rate, show.Count(a.Drafted), a.MeanKept, c.repeated())})
	}
	if c.Predicted != nil {
		l = append(l, [2]string{"theory", show.Times(*c.Predicted) +
			" in decoding, from the acceptance and costs measured"})
	}
	if c.Memory != nil {
		l = append(l, [2]string{"memory", show.Bytes(c.Memory.Baseline) + " baseline, " +
			show.Bytes(c.Memory.Assisted) + " assisted"})
	}
	return append(l, c.warnings()...)
}

// repeated says how many runs the acceptance covers, if utterances ran several times:
// the scores cover one run each.
func (c *Comparison) repeated() string {
	if c.Acceptance.Runs == c.Utterances {
		return ""
	}
	return ", in " + show.Some(c.Acceptance.Runs, "run")
}

// names returns the names of the sets.
func (d *Document) names() []string {
	names := make([]string, len(d.Scores))
	for i, s := range d.Scores {
		names[i] = strings.TrimSuffix(s.Name, ".jsonl")
	}
	return names
}
