package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/eval"
	"verity/eval/report"
	"verity/internal/output"
	"verity/transcribe"
	"verity/transcript"
)

// A datasetRun has the flags of the commands that run a dataset, and what prepare and openData make
// of them.
type datasetRun struct {
	cli.Run
	data   cli.DatasetFlags
	report reportFlags
	out    string
	batch  int
	opt    transcribe.Options
}

// addDecoding adds the flags that can change the records.
func (r *datasetRun) addDecoding(c *cobra.Command) {
	r.TextFlags = cli.AddFlags(c, r.Model.Register, r.Model.Assistant.RegisterResearch, r.Sound.Register,
		cli.DecodingFlags(&r.Decoding, 0))
}

// openData opens the dataset, and checks that results can be written, before hours of work.
func (r *datasetRun) openData(ctx context.Context) (*cli.Corpus, error) {
	r.data.Offline = r.Model.Offline
	data, err := r.data.Open(ctx)
	if err != nil {
		return nil, err
	}
	if r.out != "" {
		undo, err := output.MakeDir(r.out)
		if err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
		undo() // the first file makes it again
	}
	if err := r.report.check(); err != nil {
		return nil, err
	}
	files := slices.Compact(slices.Sorted(slices.Values(r.data.Audio)))
	return data, r.OpenTexts(ctx, len(files), r.data.Audio...)
}

// prepare makes the log and the options of decoding.
func (r *datasetRun) prepare() error {
	r.opt = r.Decoding.Result(r.Log.Logger(r.Env))
	r.opt.TokenOrigins = true // records have the pieces
	return r.Check()
}

// evalSpec is the variant of eval: the model and the assistant that the flags name.
func (r *datasetRun) evalSpec() variantSpec {
	return variantSpec{name: "records", precision: r.Model.Precision, assisted: true}
}

// conclude writes the report. The error decides the exit status. cause is why nothing was
// drafted, if it is known.
func (r *datasetRun) conclude(d *report.Document, cause string) error {
	return cmp.Or(r.report.write(r.Env, d), conclusion(d, cause))
}

// forceDrafts makes every assistant draft something, since there would be nothing to compare
// otherwise, and clears the statistics of the warm-up.
func (v *variants) forceDrafts() {
	for _, a := range v.list {
		if a.assisted {
			a.engine.model.ForceDraft()
		}
		a.engine.total = transcript.Stats{}
	}
}

// draftFailure returns why nothing was drafted, if it is known.
func (v *variants) draftFailure() string {
	for _, a := range v.list {
		if a.engine.broken != "" {
			return a.engine.broken
		}
	}
	return ""
}

// watch shows the progress of the variants, each of which makes some runs.
func (v *variants) watch(bar *cli.Progress, runs int) {
	var ended atomic.Int64
	all := float64(runs * len(v.list))
	for _, a := range v.list {
		a.engine.progress = func(share float64, end bool) {
			if end {
				ended.Add(1)
				share = 0
			}
			bar.Partly((float64(ended.Load()) + share) / all)
		}
	}
}

// compare runs all variants over the dataset, and compares them.
func (v *variants) compare(ctx context.Context, c *compareCommand, data *cli.Corpus) (*report.Document, error) {
	v.forceDrafts()
	all, sets := make([]eval.Variant, len(v.list)), make([]*report.Set, len(v.list))
	for i, a := range v.list {
		all[i], sets[i] = a.Variant, a.Set
	}
	repeats, within := c.repeats, time.Duration(0)
	if repeats == 0 {
		const enough = 5 // pairs
		repeats, within = 1+(enough-1)/max(1, data.Count(ctx)), time.Minute
	}
	bar := c.NewTally(&c.Log, func() int { return data.Count(ctx) })
	if bar != nil {
		v.watch(bar, repeats*max(1, data.Count(ctx)))
	}
	different := 0
	pairs, err := eval.Compare(ctx, all, v.matches(), data.All(ctx), eval.CompareOptions{
		Repeats: repeats, Within: within, Batch: c.batch, Limit: c.data.Limit, Dir: c.out,
		Unscored: data.Unscored, Sound: c.Sound.Input,
		Watch: func(_ []*report.Record, what []string) {
			if len(what) > 0 {
				different++
			}
			bar.Add(fmt.Sprintf("%d differ", different))
		},
	})
	bar.Clear()
	if err != nil {
		return nil, err
	}
	d := report.NewDocument(sets, pairs)
	eval.Predict(d)
	return d, nil
}
