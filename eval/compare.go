package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"verity/assistant"
	"verity/report"
)

// CompareOptions say how to compare. The zero value runs every utterance once in
// each arm, after one to warm up.
type CompareOptions struct {
	// Warmups is how many utterances both arms run before, unmeasured. 0 means 1;
	// a negative number none.
	Warmups int

	// Repeats is how often each utterance is run in each arm. 0 means 1. What is
	// recorded is the run whose decoding took the median time; all of them must be
	// identical.
	Repeats int

	// Limit is the most utterances to run. 0 means all.
	Limit int

	// Dir is the folder for baseline.jsonl and assisted.jsonl, written anew. Empty
	// means do not write.
	Dir string

	// Unscored says that the utterances have no references.
	Unscored bool

	// Runs go into the records.
	Runs report.Pair[report.Run]

	// Score says how to score.
	Score report.Options

	// Watch, if not nil, gets every pair and what differs in it.
	Watch func(baseline, assisted *report.Record, what []string)
}

// Arms are the two engines of a comparison.
type Arms struct{ Baseline, Assisted Engine }

// Compare runs both arms over the same utterances in turn, baseline first, and
// pairs the records. Broken rows count as failed in both. On an error it returns the
// pairs there are besides.
func Compare(ctx context.Context, arms Arms, data Dataset, o CompareOptions) (*report.Pairs, error) {
	a, err := report.NewSet("baseline", o.Score)
	if err != nil {
		return nil, err
	}
	b, err := report.NewSet("assisted", o.Score)
	if err != nil {
		return nil, err
	}
	w, err := newPairWriter(o.Dir)
	if err != nil {
		return nil, err
	}
	c := comparison{CompareOptions: o, arms: arms, pairs: report.NewPairs(a, b), files: w}
	c.pairs.Timed = o.Repeats > 1
	err = WarmUp(ctx, arms.Baseline, data, cmp.Or(o.Warmups, 1))
	if err == nil {
		err = WarmUp(ctx, arms.Assisted, data, cmp.Or(o.Warmups, 1))
	}
	if err == nil {
		err = c.all(ctx, data)
	}
	return c.pairs, errors.Join(err, w.close())
}

// A comparison is one on its way.
type comparison struct {
	CompareOptions
	arms  Arms
	pairs *report.Pairs
	files pairWriter
}

// WarmUp runs the first n utterances and keeps nothing: so no arm pays for pages,
// caches and clocks that the other finds ready, nor for what a policy has to learn.
func WarmUp(ctx context.Context, e Engine, data Dataset, n int) error {
	for it, err := range items(data, 0) {
		switch {
		case err != nil || n <= 0:
			return err
		case it.bad != nil:
			continue
		}
		if _, err := record(ctx, e, it, origin{}); err != nil {
			return err
		}
		n--
	}
	return nil
}

func (c *comparison) all(ctx context.Context, data Dataset) error {
	for it, err := range items(data, c.Limit) {
		if err == nil {
			err = c.pair(ctx, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pair runs one utterance A B A B … and adds what came out.
func (c *comparison) pair(ctx context.Context, it item) error {
	var a, b []*report.Record
	for range cmp.Or(c.Repeats, 1) {
		x, err := record(ctx, c.arms.Baseline, it, origin{c.Runs.Baseline, c.Unscored})
		if err != nil {
			return err
		}
		y, err := record(ctx, c.arms.Assisted, it, origin{c.Runs.Assisted, c.Unscored})
		if err != nil {
			return err
		}
		a, b = append(a, x), append(b, y)
		if c.pairs.Timed {
			c.pairs.Time(x, y)
		}
	}
	return c.add(typical(a, b))
}

// typical returns the runs of median decoding time, unless any two runs differ:
// then the first two that do, the baseline's first run among them if possible.
func typical(a, b []*report.Record) (*report.Record, *report.Record) {
	for _, r := range slices.Concat(b, a) {
		if len(report.Differ(a[0], r)) > 0 {
			return a[0], r
		}
	}
	return median(a), median(b)
}

func median(r []*report.Record) *report.Record {
	r = slices.Clone(r)
	slices.SortStableFunc(r, func(x, y *report.Record) int { return cmp.Compare(x.Seconds.Decode, y.Seconds.Decode) })
	return r[(len(r)-1)/2]
}

func (c *comparison) add(a, b *report.Record) error {
	what, err := c.pairs.Add(a, b)
	if err != nil {
		return err
	}
	if err := c.files.write(a, b); err != nil {
		return err
	}
	if c.Watch != nil {
		c.Watch(a, b, what)
	}
	return nil
}

// A pairWriter writes the records of both arms, or none.
type pairWriter []*os.File

func newPairWriter(dir string) (pairWriter, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var w pairWriter
	for _, arm := range []string{"baseline", "assisted"} {
		f, err := os.Create(filepath.Join(dir, arm+".jsonl"))
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w = append(w, f)
	}
	return w, nil
}

func (w pairWriter) write(records ...*report.Record) error {
	for i, f := range w {
		line, err := records[i].Line()
		if err != nil {
			return fmt.Errorf("record %s: %w", records[i].ID, err)
		}
		if _, err := f.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func (w pairWriter) close() (err error) {
	for _, f := range w {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Predict returns the speed-up of decoding that theory expects of the acceptance
// and the costs measured: α such that a round of the mean draft length yields the
// mean number of tokens, c the seconds of a drafted token and V the seconds of a
// verify pass, both over those of a plain step. What decoding does outside its
// rounds is not in it. It returns nil if nothing was drafted or timed.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8; assistant.Plan.
func Predict(baseline, assisted *report.Score) *float64 {
	p, q := baseline.Drafting, assisted.Drafting
	if q.Drafted == 0 || p.Rounds == 0 || baseline.Seconds.Verify <= 0 || assisted.Seconds.Verify <= 0 {
		return nil
	}
	step := baseline.Seconds.Verify / float64(p.Rounds)
	verify := assisted.Seconds.Verify / float64(q.Rounds) / step
	length := max(1, int(float64(q.Drafted)/float64(q.Rounds)+0.5))
	plan := assistant.Plan{
		Alpha:  alpha(q.MeanKept(), length),
		Cost:   assisted.Seconds.Draft / float64(q.Drafted) / step,
		Verify: func(int) float64 { return verify },
	}
	s := plan.Speedup(length)
	return &s
}

// alpha returns the chance of acceptance with which drafts of n tokens yield mean
// tokens a round.
func alpha(mean float64, n int) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; assistant.Expected(mid, n) < mean {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
