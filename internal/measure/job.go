package measure

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/datasets"
	"verity/eval"
	"verity/internal/command"
	"verity/internal/setup"
)

// A Job is "verity eval", or both arms of "verity compare", for a program that deals
// out the rows itself: the flags, the dataset, the model with its assistant, and the
// report. Records of its engines are those of the command.
type Job struct {
	evalCommand
	compare bool
	theirs  *pflag.FlagSet // flags that a worker must know
}

// NewJob adds the flags of a job to a command, besides those that own adds under a
// title. Text and logs go to out and err.
func NewJob(c *cobra.Command, out, err io.Writer, title string, own func(*pflag.FlagSet)) *Job {
	j := &Job{evalCommand: evalCommand{runs: runs{Env: command.Env{Out: out, Err: err}}}}
	command.AddFlags(c, j.data.RegisterPath, command.Titled(title, own), j.report.register)
	j.theirs = command.AddFlags(c,
		func(f *pflag.FlagSet) {
			f.BoolVar(&j.compare, "compare", false, "run every utterance with plain decoding and with the assistant, on the "+
				"same worker, and hold the records against each other to the bit")
		},
		j.data.Register,
		func(f *pflag.FlagSet) { command.Bind(f, "batch", &j.batch) },
		j.log.RegisterQuiet,
	)
	for _, name := range []string{"dataset", "limit", "normalizer"} {
		j.theirs.AddFlag(c.Flags().Lookup(name))
	}
	j.addDecoding(c)
	j.theirs.AddFlagSet(j.made)
	c.SetFlagErrorFunc(command.FlagError)
	c.SetGlobalNormalizationFunc(command.Dashes)
	c.SetHelpFunc(command.WriteHelp)
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
	j.theirs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "model" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// Check reports the first flag with an unusable value, and why a report could not be
// written, before hours of work.
func (j *Job) Check() (err error) {
	if err := j.report.check(j.data.Path); err != nil {
		return err
	}
	if _, err = j.check(); err != nil || !j.compare {
		return err
	}
	if j.plain() {
		return command.Usagef("--compare: there is nothing to compare without an assistant: name one with --assistant (self, ngram, bigram or a directory), or text of it with --draft-from")
	}
	return j.model.Assistant.Comparable()
}

// Options say how rows are run: how many at the same time, how many in all, and how their
// sound is opened.
func (j *Job) Options() eval.Options {
	return eval.Options{Workers: j.batch, Limit: j.data.Limit, Sound: j.sound.Input}
}

// Dataset is what --dataset names.
func (j *Job) Dataset() string { return j.data.Path }

// Normalizer names what texts are normalised by before they are scored.
func (j *Job) Normalizer() string { return j.report.normalizer }

// Open opens the dataset. files, if not empty, are the files to read instead of what
// --dataset names: copies of what lies elsewhere, or those that match a pattern.
func (j *Job) Open(ctx context.Context, files []string) (*datasets.Dataset, error) {
	path := j.data.Path
	if len(files) > 0 {
		path = files[0]
	}
	if path == "" {
		return nil, setup.ErrNoDataset
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

// ArmNames are the names of the arms that Load returns.
func (j *Job) ArmNames() (names []string) {
	for _, spec := range j.specs() {
		names = append(names, spec.name)
	}
	return names
}

func (j *Job) specs() []armSpec {
	if j.compare {
		return pair(j.model.Precision.Precision)
	}
	return []armSpec{j.whole()}
}

// Load opens the model: one arm, or the plain one and the assisted one, which share
// all weights. They are never closed: a process has one job.
func (j *Job) Load(ctx context.Context) (all []eval.Arm, err error) {
	if j.drafts, err = setup.OpenDrafts(ctx, j.model.Assistant.From, 0); err != nil {
		return nil, err
	}
	r := j.newArms()
	for _, spec := range j.specs() {
		a, err := r.load(ctx, spec, j.data.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, a.Arm)
	}
	if j.compare {
		r.ready()
	}
	return all, nil
}
