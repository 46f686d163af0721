package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"verity/audio"
	"verity/eval/report"
	"verity/internal/input"
	"verity/internal/output"
	"verity/parallel"
	"verity/transcript"
)

// CompareOptions configures a comparison. The zero value runs every utterance once in
// each variant.
type CompareOptions struct {
	Repeats  int           // runs of an utterance in each variant; 0 means 1. The one of median decoding time is recorded
	Within   time.Duration // an utterance that has run for so long is not repeated; 0 means no limit
	Batch    int           // utterances that a variant runs at the same time, timed together, in wall time; 0 means 1
	Limit    int           // most utterances to run; 0 means all
	Dir      string        // folder for NAME.jsonl of each variant, see [Options]
	Unscored bool          // the utterances have no references
	Sound    audio.Input   // how the sound of an utterance is opened

	// Watch, if not nil, gets the records of an utterance, one for each variant, and the
	// differences that are errors.
	Watch func(records []*report.Record, what []string)
}

// A Variant is one of several engines that run over the same utterances.
type Variant struct {
	Name   string // of its record file, NAME.jsonl
	Engine Engine
	Run    transcript.Provenance // stored in its records
	Set    *report.Set           // collects its records; must be empty

	Resources *report.Resources // stored in its records; nil if unknown

	// Decoding, if not nil, returns how long the engine has been decoding in total, in wall time,
	// with any number of utterances at once. Without it, the decoding time of a batch is the longest
	// of an utterance.
	Decoding func() time.Duration
}

// A Match is two variants, by index, that are compared.
type Match struct{ Baseline, Assisted int }

// Compare runs the variants over the same utterances in turn, and compares the records of the
// matches. Broken rows count as failed in all variants. On an error it also returns the pairs so far.
func Compare(
	ctx context.Context, variants []Variant, matches []Match, data Dataset, o CompareOptions,
) (_ []*report.Pairs, err error) {
	c := comparison{CompareOptions: o, variants: variants, matches: matches}
	for _, m := range matches {
		p := report.NewPairs(variants[m.Baseline].Set, variants[m.Assisted].Set)
		p.Timed = true
		c.pairs = append(c.pairs, p)
	}
	c.out, err = openRecords(o.Dir, variants, func(r []*report.Record) error { return c.enter(ctx, r, true) })
	if err != nil {
		return c.pairs, err
	}
	defer c.out.close()
	if err = c.writeNames(); err == nil {
		err = c.runAll(ctx, data)
	}
	if err != nil {
		return c.pairs, err
	}
	return c.pairs, c.out.finish(c.Limit > 0)
}

// A comparison is the state of Compare.
type comparison struct {
	CompareOptions
	variants []Variant
	matches  []Match
	pairs    []*report.Pairs // of the matches
	out      *recordWriter
}

// writeNames writes the names of the variants beside their records, for report.Find.
func (c *comparison) writeNames() error {
	if c.Dir == "" {
		return nil
	}
	at := filepath.Join(c.Dir, report.VariantsFile)
	b, err := input.Read(context.Background(), at, 1<<20)
	if err == nil && json.Unmarshal(b, new([]string)) != nil || errors.Is(err, input.ErrTooLarge) {
		return &output.Error{Name: at, Err: errors.New("it does not list variants: name another folder, or remove the file"), Unfit: true}
	}
	names := make([]string, len(c.variants))
	for i, variant := range c.variants {
		names[i] = variant.Name
	}
	return output.Replace(at, func(w io.Writer) error { return json.NewEncoder(w).Encode(names) })
}

// enter adds the records of an utterance to sets and pairs. Records found from an earlier run
// contain its times if utterances ran one at a time; the times of a group are not recorded.
func (c *comparison) enter(ctx context.Context, records []*report.Record, found bool) error {
	for i, variant := range c.variants {
		if err := variant.Set.Add(ctx, records[i]); err != nil {
			return err
		}
	}
	var differ []string
	for i, m := range c.matches {
		a, b := records[m.Baseline], records[m.Assisted]
		if found {
			c.pairs[i].Resume(a, b, c.Batch <= 1)
		}
		if report.MustAgree(a.Run, b.Run) {
			differ = append(differ, report.Differ(a, b)...)
		}
	}
	if c.Watch != nil {
		c.Watch(records, differ)
	}
	return nil
}

// WarmUp runs the first n utterances at the same time and discards the results. Without
// it, the first variant of a comparison would pay for cold pages, caches and clocks, and for
// the calibration of a draft policy.
func WarmUp(ctx context.Context, e Engine, data Dataset, n int, sound audio.Input) error {
	for group, err := range groups(data, n, n, &recordWriter{}) {
		if err == nil {
			_, err = together(ctx, Variant{Engine: e}, group, Options{Sound: sound})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// groups yields the rows without a record in groups of size, at least 1, up to limit
// utterances.
func groups(data Dataset, limit, size int, l *recordWriter) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var group []Row
		for it := range pending(data, l, limit, Shard{}) {
			if it.err != nil {
				yield(nil, it.err)
				return
			}
			if group = append(group, it.Row); len(group) >= size {
				if !yield(group, nil) {
					return
				}
				group = nil
			}
		}
		if len(group) > 0 {
			yield(group, nil)
		}
	}
}

func (c *comparison) runAll(ctx context.Context, data Dataset) error {
	for group, err := range groups(data, c.Limit, max(1, c.Batch), c.out) {
		if err == nil {
			err = c.runGroup(ctx, group)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runGroup runs a group of utterances in all variants, A B A B …, and adds the results.
func (c *comparison) runGroup(ctx context.Context, group []Row) error {
	runs := make([][][]*report.Record, len(group)) // by utterance, then variant
	for i := range runs {
		runs[i] = make([][]*report.Record, len(c.variants))
	}
	began := time.Now()
	for n := range cmp.Or(c.Repeats, 1) {
		if n > 0 && c.Within > 0 && time.Since(began) > c.Within {
			break
		}
		out := make([]outcome, len(c.variants))
		for i, variant := range c.variants {
			var err error
			if out[i], err = together(ctx, variant, group,
				Options{Run: variant.Run, Resources: variant.Resources, Unscored: c.Unscored, Sound: c.Sound}); err != nil {
				return err
			}
			for u := range group {
				runs[u][i] = append(runs[u][i], out[i].records[u])
			}
		}
		for i, m := range c.matches {
			x, y := out[m.Baseline], out[m.Assisted]
			c.pairs[i].Time(len(group), x.records, y.records,
				report.Pair[float64]{Baseline: x.decode, Assisted: y.decode},
				report.Pair[float64]{Baseline: x.total, Assisted: y.total})
		}
	}
	for _, of := range runs {
		records := c.typical(of)
		err := c.out.write(records...)
		if err == nil {
			err = c.enter(ctx, records, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An outcome is the result of a group of utterances.
type outcome struct {
	records       []*report.Record
	decode, total float64 // s, wall time; without a batch, the sum of the records' times
}

// together runs a group of utterances at the same time.
func together(ctx context.Context, variant Variant, group []Row, o Options) (_ outcome, err error) {
	var r outcome
	began, decoding := time.Now(), time.Duration(0)
	if variant.Decoding != nil {
		decoding = variant.Decoding()
	}
	for x := range parallel.Ordered(len(group), len(group), slices.Values(group), func(_ int, it Row) result {
		return todo{Row: it}.transcribe(ctx, variant.Engine, o)
	}) {
		if r.records, err = append(r.records, x.record), cmp.Or(err, x.err); err != nil {
			return r, err
		}
	}
	if len(group) == 1 {
		for _, x := range r.records {
			r.decode += x.Seconds.Decode
			r.total += x.Seconds.Total
		}
		return r, nil
	}
	r.total = time.Since(began).Seconds()
	for _, x := range r.records {
		x.Wall = r.total / float64(len(group))
		r.decode = max(r.decode, x.Seconds.Decode)
	}
	if variant.Decoding != nil {
		r.decode = (variant.Decoding() - decoding).Seconds()
	}
	return r, nil
}

// typical returns the run of median decoding time of each variant. If two runs differ that must be
// identical, it returns the first such pair, with the baseline's first run if possible.
func (c *comparison) typical(runs [][]*report.Record) []*report.Record {
	some := make([]*report.Record, len(runs))
	for i, r := range runs {
		some[i] = median(r)
	}
	for _, m := range c.matches {
		if !report.MustAgree(c.variants[m.Baseline].Run, c.variants[m.Assisted].Run) {
			continue
		}
		a, b := runs[m.Baseline], runs[m.Assisted]
		for _, r := range slices.Concat(b, a) {
			if len(report.Differ(a[0], r)) > 0 {
				some[m.Baseline], some[m.Assisted] = a[0], r
				break
			}
		}
	}
	return some
}

func median(r []*report.Record) *report.Record {
	r = slices.Clone(r)
	slices.SortStableFunc(r, func(x, y *report.Record) int { return cmp.Compare(x.Seconds.Decode, y.Seconds.Decode) })
	return r[(len(r)-1)/2]
}
