package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/internal/output"
	"verity/transcribe"
)

// A datasetRun has the flags of the commands that run a dataset, and what prepare and openData make
// of them.
type datasetRun struct {
	cli.Env
	model     cli.ModelFlags
	sound     cli.SoundFlags
	decoding  cli.Decoding
	log       cli.LogFlags
	data      cli.DatasetFlags
	report    reportFlags
	out       string
	batch     int
	textFlags *pflag.FlagSet // those that can change the records

	opt    transcribe.Options
	drafts *cli.DraftSource
}

// addDecoding adds the flags that can change the records.
func (r *datasetRun) addDecoding(c *cobra.Command) {
	r.textFlags = cli.AddFlags(c, r.model.Register, r.model.Assistant.RegisterResearch, r.sound.Register,
		cli.DecodingFlags(&r.decoding, 0))
}

// openData opens the dataset, and checks that results can be written, before hours of work.
func (r *datasetRun) openData(ctx context.Context) (*cli.Corpus, error) {
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
	if r.drafts, err = cli.OpenDrafts(ctx, &r.model.Assistant, len(files)); err == nil && len(files) > 0 {
		err = r.drafts.Check(ctx, r.data.Audio)
	}
	return data, err
}

// prepare makes the log and the options of decoding.
func (r *datasetRun) prepare() error {
	r.opt = r.decoding.Result(r.log.Logger(r.Env))
	r.opt.TokenOrigins = true // records have the pieces
	return r.sound.Check()
}

// evalSetting is the variant of eval: the model and the assistant that the flags name.
func (r *datasetRun) evalSetting() setting {
	return setting{name: "records", precision: r.model.Precision, assisted: true}
}

// plain reports whether the flags name nothing that drafts.
func (r *datasetRun) plain() bool {
	return r.model.Assistant.For(r.model.Name) == string(transcribe.None) && r.model.Assistant.From == ""
}

// conclude writes the report. The error decides the exit status. cause is why nothing was
// drafted, if it is known.
func (r *datasetRun) conclude(d *report.Document, cause string) error {
	return cmp.Or(r.report.write(r.Env, d), conclusion(d, cause))
}
