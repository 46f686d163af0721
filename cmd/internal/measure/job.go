package measure

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/datasets"
	"verity/eval"
	"verity/eval/report"
	"verity/transcript"
)

// A Job is "verity eval" for a program that distributes the rows itself: the flags, the dataset,
// the model with its assistant, and the report. It writes the same records as the command.
type Job struct {
	evalCommand
	workerFlags *pflag.FlagSet // those that a worker must have
}

// NewJob adds the flags of a job to a command. own adds further flags, which help shows under
// title. Text and logs go to out and err.
func NewJob(c *cobra.Command, out, err io.Writer, title string, own func(*pflag.FlagSet)) *Job {
	j := &Job{evalCommand: evalCommand{datasetRun: datasetRun{Run: cli.Run{Env: cli.Env{Out: out, Err: err}}}}}
	cli.AddFlags(c, j.data.RegisterPath, own, func(f *pflag.FlagSet) { cli.Title(f, title) }, j.report.register)
	j.workerFlags = cli.AddFlags(c,
		j.data.Register,
		func(f *pflag.FlagSet) { cli.Bind(f, "batch", &j.batch) },
		j.Log.RegisterQuiet,
	)
	for _, name := range []string{"dataset", "limit"} {
		j.workerFlags.AddFlag(c.Flags().Lookup(name))
	}
	j.addText(c)
	j.workerFlags.AddFlagSet(j.TextFlags)
	c.SetFlagErrorFunc(cli.FlagError)
	c.SetGlobalNormalizationFunc(cli.Normalize)
	c.SetHelpFunc(cli.Help)
	c.SilenceUsage, c.SilenceErrors = true, true
	return j
}

// ParseJob returns the job for the arguments that Args returned, in a worker.
func ParseJob(args []string, err io.Writer) (*Job, error) {
	c := &cobra.Command{}
	j := NewJob(c, io.Discard, err, "", func(*pflag.FlagSet) {})
	if err := c.ParseFlags(args); err != nil {
		return nil, err
	}
	return j, j.Check()
}

// Args returns the flags that another process needs for the same job. The model is
// always named: the default may differ there.
func (j *Job) Args() (args []string) {
	j.workerFlags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "model" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// Check reports the first flag with an unusable value, and why a report could not be
// written, before hours of work.
func (j *Job) Check() error { return cmp.Or(j.report.check(), j.check()) }

// Options say how rows are run, once Check has been called: how many at the same time, how many in all, and how
// their sound is opened.
func (j *Job) Options() eval.Options { return j.options }

// Dataset is what --dataset names.
func (j *Job) Dataset() string { return j.data.Path }

// Open opens the dataset. files, if not empty, are read instead of what --dataset names: local
// copies of remote files, or the files that match a pattern.
func (j *Job) Open(ctx context.Context, files []string) (*datasets.Dataset, error) {
	path := j.data.Path
	if len(files) > 0 {
		path = files[0]
	}
	if path == "" {
		return nil, cli.ErrNoDataset
	}
	d, err := datasets.Open(ctx, path, j.data.Opt)
	if err == nil && len(files) > 1 {
		d.Files = files
	}
	if err == nil {
		err = d.CheckSplit(ctx)
	}
	return d, err
}

// Load opens the model, and names what made its records. It is never closed: a process
// has one job.
func (j *Job) Load(ctx context.Context) (eval.Engine, transcript.Provenance, error) {
	if err := j.OpenTexts(ctx, 0); err != nil {
		return nil, transcript.Provenance{}, err
	}
	a, err := j.newVariants().load(ctx, j.evalSpec(), j.data.Name())
	if err != nil {
		return nil, transcript.Provenance{}, err
	}
	j.options.Resources = a.resources()
	return a.Engine, a.Run, nil
}

// Report scores the record files of the job as "verity report" does. The error decides
// the exit status.
func (j *Job) Report(ctx context.Context, records report.Files) error {
	d, err := report.Load(ctx, []report.Files{records}, j.report.normalizer, "")
	if err != nil {
		return err
	}
	if s := d.Scores[0]; s.Utterances+s.Failed == 0 {
		return fmt.Errorf("dataset %s holds no utterance: there is nothing to report", j.data.Path)
	}
	return j.conclude(d, "")
}
