package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/internal/output"
	"verity/transcribe"
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

// evalSetting is the variant of eval: the model and the assistant that the flags name.
func (r *datasetRun) evalSetting() setting {
	return setting{name: "records", precision: r.Model.Precision, assisted: true}
}

// conclude writes the report. The error decides the exit status. cause is why nothing was
// drafted, if it is known.
func (r *datasetRun) conclude(d *report.Document, cause string) error {
	return cmp.Or(r.report.write(r.Env, d), conclusion(d, cause))
}
