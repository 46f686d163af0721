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
)

// The schema fields of a report's JSON: of one score, and of a comparison.
const (
	Schema        = "verity.report/2"
	CompareSchema = "verity.compare/2"
)

// A Document is what a report shows: the scores of one or more variants, and comparisons of
// them.
type Document struct {
	Scores      []*Score
	Comparisons []*Comparison
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
	for field := range strings.SplitSeq(by, ",") {
		if by != "" && !fields[field] {
			return nil, option.New("by", field, "no record has this field; they have "+
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(fields)), ", "), "none"))
		}
	}
	return NewDocument(sets, pairs), nil
}

// NewDocument returns the document of some variants and of pairs of them.
func NewDocument(sets []*Set, pairs []*Pairs) *Document {
	d := &Document{}
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

// A variantsJSON is the JSON of a document with several variants; docs/reference/JSON.md is made from it.
type variantsJSON struct {
	Schema   string        `json:"schema"`  // name and version of this format
	Verdict  Verdict       `json:"verdict"` // of the comparisons that demand equality; free if none does
	Variants []*Score      `json:"arms"`    // in the order requested; variants had that name earlier
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

// title names what was compared or scored.
func (d *Document) title() string {
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
			notes = append(notes, fmt.Sprintf("Different references: %s and %s do not have the same ones for %s, so their error rates "+
				"do not compare.", c.Names.Baseline, c.Names.Assisted, show.Some(c.references, "utterance")))
		}
		if c.Missing > 0 {
			notes = append(notes, fmt.Sprintf("Different utterances: %s and %s do not have the same ones, since %s in one of them "+
				"alone. The error rates of the table are over different sets; a comparison is over the utterances of both.",
				c.Names.Baseline, c.Names.Assisted,
				show.Some(c.Missing, "utterance")+textIf(c.Missing == 1, " is")+textIf(c.Missing != 1, " are")))
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

// withoutEmpty leaves out the columns that only have a header; nil if all have.
func withoutEmpty(rows [][]string) [][]string {
	if len(rows) == 1 {
		return nil
	}
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
				number("%.2f×", c.Predicted), c.cell(c.Speedup.Decode), show.Times(t.Ideal), show.Count(t.Best),
				number("%.2f×", s.Operations), textIf(s.GBPS > 0, show.Digits(s.BytesPerToken/1e6))})
		}
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
		return c.cell(c.Speedup.Decode)
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
