package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"verity/internal/option"
	"verity/internal/show"
	"verity/transcript"
)

// The schema fields of a report's JSON: of one score, and of a comparison.
const (
	Schema        = "verity.report/2"
	CompareSchema = "verity.compare/2"
)

// A Document is what a report shows: the scores of one or more variants, and comparisons of
// them.
type Document struct {
	Title       string // empty means one that says what was run
	Scores      []*Score
	Comparisons []*Comparison

	sets []*Set
}

// Load scores the sets of files, and compares the first with every other by utterance.
func Load(ctx context.Context, files []Files, normalizer, by string) (*Document, error) {
	var sets []*Set
	var pairs []*Pairs
	fields := map[string]bool{}
	for i, f := range files {
		s, err := NewSet(f.Name, normalizer)
		if err == nil {
			s.by, s.keepUtterances = by, true
			err = s.AddAll(ctx, f)
		}
		if err != nil {
			return nil, err
		}
		if sets = append(sets, s); i > 0 {
			pairs = append(pairs, NewPairs(sets[0], s))
		}
		maps.Copy(fields, s.fields)
	}
	if by != "" && !fields[by] {
		return nil, option.New("by", by, "no record has this field; they have "+
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(fields)), ", "), "none"))
	}
	return NewDocument(sets, pairs), nil
}

// NewDocument returns the document of some variants and of pairs of them.
func NewDocument(sets []*Set, pairs []*Pairs) *Document {
	d := &Document{sets: sets}
	for _, s := range sets {
		d.Scores = append(d.Scores, s.Score())
	}
	for _, p := range pairs {
		c := p.Comparison()
		c.Variants = Pair[int]{slices.Index(sets, p.Baseline), slices.Index(sets, p.Assisted)}
		if c.Batch.Size > 1 && c.Batch.Pairs > 0 { // by the clock
			d.Scores[c.Variants.Baseline].TokensPerSecond = c.Batch.TokensPerSecond.Baseline
			d.Scores[c.Variants.Assisted].TokensPerSecond = c.Batch.TokensPerSecond.Assisted
		}
		d.Comparisons = append(d.Comparisons, c)
	}
	return d
}

// Verdict is the combined verdict of the comparisons that demand equality; Free if none
// does.
func (d *Document) Verdict() Verdict {
	v := Free
	for _, c := range d.Comparisons {
		switch {
		case c.Verdict == Different:
			return Different
		case c.Verdict == Inconclusive, c.Verdict == Identical && v == Free:
			v = c.Verdict
		}
	}
	return v
}

// An variantsJSON is the JSON of a document with several variants; docs/reference/JSON.md is made from it.
type variantsJSON struct {
	Schema   string        `json:"schema"`  // name and version of this format
	Verdict  Verdict       `json:"verdict"` // of the comparisons that demand equality; free if none does
	Variants []*Score      `json:"arms"`    // in the order requested
	Pairs    []*Comparison `json:"pairs"`   // each variant with the first, then with the first of its precision
}

// A scoreJSON is that of a document with one set.
type scoreJSON struct {
	Schema string `json:"schema"` // name and version of this format
	*Score
}

// JSON writes d on one line: the fields of its score, or variants and pairs.
func (d *Document) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if len(d.Scores) == 1 {
		return e.Encode(scoreJSON{Schema, d.Scores[0]})
	}
	return e.Encode(variantsJSON{CompareSchema, d.Verdict(), d.Scores, d.Comparisons})
}

// title returns the given title, or one that names what was compared or scored.
func (d *Document) title() string {
	if d.Title != "" {
		return d.Title
	}
	r := d.Scores[0].Run
	model, data := shortName(r.Model), shortName(r.Dataset)
	switch {
	case len(d.Scores) > 2:
		return model + ": " + strings.Join(d.names(), ", ")
	case model != "" && data != "":
		return model + " on " + data
	case model != "":
		return model
	}
	return "Verity report"
}

func (d *Document) names() []string {
	names := make([]string, len(d.Scores))
	for i, s := range d.Scores {
		names[i] = strings.TrimSuffix(s.Name, ".jsonl")
	}
	return names
}

// notes returns what a reader must know before the numbers.
func (d *Document) notes() (notes []string) {
	if slices.ContainsFunc(d.Scores, func(s *Score) bool { return s.Run.Planted }) {
		notes = append(notes, "The model is planted: it writes the same text whatever the sound is. "+
			"Times and acceptance mean something, error rates do not.")
	}
	for _, s := range d.Scores {
		if lacking := s.Shards.Incomplete(); lacking != "" {
			notes = append(notes, "Incomplete: "+s.Name+": "+lacking+". These figures cover only the rest.")
		}
	}
	for _, c := range d.Comparisons {
		if c.references > 0 {
			notes = append(notes, fmt.Sprintf("Different references: %s and %s do not have the same ones for %s, so their error rates do not compare.",
				c.Names.Baseline, c.Names.Assisted, show.Some(c.references, "utterance")))
		}
		if c.Missing > 0 {
			notes = append(notes, fmt.Sprintf("Different utterances: %s and %s do not have the same ones, since %s in one of them "+
				"alone. The error rates of the table are over different sets; a comparison is over the utterances of both.",
				c.Names.Baseline, c.Names.Assisted, show.Some(c.Missing, "utterance")+map[bool]string{true: " is", false: " are"}[c.Missing == 1]))
		}
	}
	return notes
}

func (c *Comparison) heading() string { return c.Names.Assisted + " against " + c.Names.Baseline }

// sameTexts reports whether the variant at an index has the same texts as an earlier one.
func (d *Document) sameTexts(i int) bool {
	return slices.ContainsFunc(d.Comparisons, func(c *Comparison) bool {
		return c.Variants.Assisted == i && (c.Verdict == Identical || c.Verdict == Inconclusive)
	})
}

// variants returns the table of the variants, header first; nil without a comparison.
func (d *Document) variants() [][]string {
	if len(d.Comparisons) == 0 {
		return nil
	}
	rows := [][]string{{"variant", "tokens/s", "decoding", "accepted", "GB/s", "MB a token", "memory", "WER"}}
	for i, s := range d.Scores {
		wer := show.Percent(s.WER)
		if x := s.WERInterval; x != nil {
			wer += " (" + x.Short() + ")"
		}
		rows = append(rows, []string{d.names()[i], textIf(s.TokensPerSecond > 0, show.Digits(s.TokensPerSecond)), d.overFirst(i),
			textIf(s.Drafting.Drafted > 0, fmt.Sprintf("%.1f %%", 100*s.Drafting.Rate())),
			textIf(s.GBPS > 0, show.Digits(s.GBPS)), textIf(s.GBPS > 0, show.Digits(s.BytesPerToken/1e6)),
			textIf(s.Memory > 0, show.Bytes(s.Memory)), textIf(s.Scored > 0, wer)})
	}
	return withoutEmpty(rows)
}

// withoutEmpty leaves out the columns that only have a header.
func withoutEmpty(rows [][]string) [][]string {
	for j := len(rows[0]) - 1; j > 0; j-- {
		if !slices.ContainsFunc(rows[1:], func(r []string) bool { return r[j] != "" }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], j, j+1)
			}
		}
	}
	return rows
}

// assistants returns the table of assistants, header first: what theory expects of each, and what was measured.
// It is nil if nothing is predicted.
func (d *Document) assistants() [][]string {
	rows := [][]string{{"assistant", "α", "Σ min(p, q)", "c", "γ", "E", "expected", "measured", "if passes took one step",
		"best γ", "operations a token", "MB a token"}}
	for _, c := range d.Comparisons {
		if t, s := c.Theory, d.Scores[c.Variants.Assisted]; t != nil {
			rows = append(rows, []string{c.Names.Assisted, fmt.Sprintf("%.3f", t.Alpha),
				number("%.3f", c.Acceptance.Overlap), show.Digits(t.Cost), show.Digits(t.Length), show.Digits(t.Tokens),
				show.Times(*c.Predicted), c.Speedup.Decode.cell(), show.Times(t.Ideal), show.Count(t.Best),
				number("%.2f×", s.Operations), textIf(s.GBPS > 0, show.Digits(s.BytesPerToken/1e6))})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return withoutEmpty(rows)
}

// lengths returns the table of what theory expects of constant draft lengths; nil if nothing is predicted.
func (d *Document) lengths() [][]string {
	rows := [][]string{{"assistant", "γ", "E", "expected", "if passes took one step", "operations"}}
	for _, c := range d.Comparisons {
		if c.Theory == nil {
			continue
		}
		for _, x := range c.Theory.Lengths {
			rows = append(rows, []string{c.Names.Assisted, show.Count(x.Length), show.Digits(x.Tokens), number("%.2f×", x.Speedup),
				show.Times(x.Ideal), number("%.2f×", x.Operations)})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return withoutEmpty(rows)
}

// number formats a number that may be unknown.
func number(format string, v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}

// overFirst spells the speed-up of decoding of a variant over the first.
func (d *Document) overFirst(variant int) string {
	if c := d.withFirst(variant); c != nil {
		return c.Speedup.Decode.cell()
	}
	return ""
}

// withFirst returns the comparison of a variant with the first; nil if there is none.
func (d *Document) withFirst(variant int) *Comparison {
	at := slices.IndexFunc(d.Comparisons, func(c *Comparison) bool { return c.Variants == Pair[int]{0, variant} })
	if at < 0 {
		return nil
	}
	return d.Comparisons[at]
}

// cell spells a speed-up for a table; nothing if it was not measured.
func (x Speedup) cell() string {
	switch i := x.Interval; {
	case x.Median == 0:
		return ""
	case i == nil:
		return show.Times(x.Overall)
	default:
		return fmt.Sprintf("%s (%s to %s%s)", show.Times(x.Mean), show.Times(i[0]), show.Times(i[1]),
			textIf(i[0] <= 1 && 1 <= i[1], ", inconclusive"))
	}
}

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
		return fmt.Sprintf("WER %s in both, and the same number of errors in every utterance, over %s", show.Percent(c.WER.Baseline), all)
	}
	return fmt.Sprintf("WER %s, over %s", c.Change.points(), all)
}

// A row is a line of a comparison: label and value.
type row = [2]string

// lines returns the comparison as labels and values.
func (c *Comparison) lines() []row {
	name := c.Names
	l := []row{{"verdict", c.sentence()}}
	other := c.foreign || c.runs.Baseline.ModelID != c.runs.Assisted.ModelID // the sentence has the change
	if c.Change != nil && !other {
		l = append(l, row{"WER change", c.Change.points()})
	}
	for _, g := range c.Groups {
		if c.Change != nil {
			l = append(l, row{"  " + cmp.Or(g.Name, "(none)"), g.points()})
		}
	}
	if !other {
		l = append(l, row{"identical", fmt.Sprintf("tokens %s, log-probabilities %s, segments %s, of %s",
			show.Count(c.Identical.Tokens), show.Count(c.Identical.LogProbs), show.Count(c.Identical.Segments),
			show.Count(c.Utterances))})
	}
	if c.WER != nil {
		l = append(l, row{"WER", fmt.Sprintf("%s %s, %s %s",
			show.Percent(c.WER.Baseline), name.Baseline, show.Percent(c.WER.Assisted), name.Assisted)})
	}
	if c.Unpaired > 0 {
		l = append(l, row{"unpaired",
			show.Some(c.Unpaired, "utterance") + " in one set only: shards of the other are missing"})
	}
	if !c.foreign {
		l = append(l, c.speeds()...)
	}
	if b := c.Batch; b.Size > 1 {
		l = append(l, row{"batch", fmt.Sprintf("%d utterances at a time: %.1f tokens a second %s, %.1f %s",
			b.Size, b.TokensPerSecond.Baseline, name.Baseline, b.TokensPerSecond.Assisted, name.Assisted)})
	}
	if a := c.Acceptance; a.Drafted > 0 {
		l = append(l, row{"acceptance", fmt.Sprintf("%.1f %% of %s drafted tokens, α %.3f%s, %.2f tokens a round",
			100*a.Rate, show.Count(a.Drafted), a.Agreement, number(", mean of Σ min(p, q) %.3f", a.Overlap), a.MeanKept) + textIf(a.Runs != c.Utterances, ", in "+show.Some(a.Runs, "run")) +
			textIf(a.lost > 0, fmt.Sprintf("; the text was lost %s and found again %s", show.Some(a.lost, "time"), show.Some(a.found, "time")))},
			row{"rounds", c.rounds()})
	}
	if c.Predicted != nil {
		l = append(l, row{"theory",
			show.Times(*c.Predicted) + " in decoding, from α and the times of passes and drafts measured"})
	}
	switch e := c.BreakEven; {
	case e == nil:
	case *e >= 1:
		l = append(l, row{"break-even", "none: drafts of this length cannot pay here, even if all were right"})
	default:
		l = append(l, row{"break-even", fmt.Sprintf("drafts of this length pay here from %.0f %% right; %.0f %% were, "+
			"counted up to the first wrong token of each draft", 100**e, 100*c.Acceptance.Agreement)})
	}
	return append(l, c.warnings()...)
}

// rounds returns the shares of rounds by accepted tokens; nothing if nothing was drafted.
func (c *Comparison) rounds() string {
	a := c.Acceptance
	var parts []string
	for accepted, n := range a.Histogram {
		if accepted == 0 {
			n -= a.Empty
		}
		if n > 0 && a.Drafted > 0 {
			parts = append(parts, fmt.Sprintf("%d in %.0f %%", accepted, 100*transcript.Ratio(float64(n), float64(a.Rounds))))
		}
	}
	return strings.Join(parts, ", ") + textIf(a.Empty > 0, fmt.Sprintf("; no draft in %.0f %%", 100*transcript.Ratio(float64(a.Empty), float64(a.Rounds))))
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
