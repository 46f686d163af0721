package measure

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/eval"
	"verity/internal/command"
	"verity/internal/options"
	"verity/internal/output"
	"verity/internal/setup"
	"verity/internal/show"
	"verity/report"
	"verity/transcribe"
)

const evalHelp = `Eval transcribes a dataset and scores it: word and character error rate with a
confidence interval, errors by kind, speed, time by stage. --out keeps records
as JSON lines: the raw text and everything known about each utterance. "verity report"
scores them again, compares them and makes a page.

An interrupted run resumes where it stopped when you start it again with the same
flags. Rows that cannot be used (no audio, bad JSON, an empty text) and sounds that
cannot be read are counted and named, and do not stop the others; the next start tries
them again. With --shard 2/4 this run takes the second of every four rows, so that four
machines can share a dataset; reports take all shards in a directory together.

  verity eval --dataset LibriSpeech/test-clean --model ~/whisper-small --out out
  verity eval --dataset manifest.jsonl --split test --normalizer basic \
    --html report.html

Exit status: 0 done, 1 some utterance failed, 2 wrong usage.`

// An evalCommand is the eval command with its flags.
type evalCommand struct {
	command.Env
	model    setup.ModelFlags
	sound    setup.SoundFlags
	decoding setup.DecodingFlags
	log      command.LogFlags
	data     setup.DatasetFlags
	report   reportFlags
	out      string
	shard    string
	batch    int
	made     *pflag.FlagSet // flags that decide on the records

	opt transcribe.Options
}

func Eval(e command.Env) *cobra.Command {
	v := &evalCommand{Env: e}
	c := &cobra.Command{
		Use:   "eval --dataset PATH [flags]",
		Short: "Transcribe a dataset and score it",
		Long:  evalHelp,
		Args:  command.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return v.run(c.Context()) },
	}
	command.AddFlags(c,
		v.data.RegisterPath,
		command.Titled(options.Dataset, v.registerOut),
		v.data.Register,
		v.registerBatch,
		v.report.register,
		v.log.RegisterRun,
	)
	v.made = addDecoding(c, &v.model, &v.sound, &v.decoding)
	return c
}

func (v *evalCommand) registerOut(f *pflag.FlagSet) {
	command.Bind(f, "out", &v.out)
	f.StringVar(&v.shard, "shard", "", "part of the dataset to run, such as 2/4; index/4 in a pod of a Kubernetes "+
		"Indexed Job takes the part from $JOB_COMPLETION_INDEX")
}

func (v *evalCommand) registerBatch(f *pflag.FlagSet) {
	command.Bind(f, "batch", &v.batch)
}

// addDecoding adds the flags of model, sound and decoding, and returns them: they decide
// on what is in the records.
func addDecoding(c *cobra.Command, m *setup.ModelFlags, s *setup.SoundFlags, d *setup.DecodingFlags) *pflag.FlagSet {
	return command.AddFlags(c, m.Register, s.Register, d.Register(0))
}

func (v *evalCommand) run(ctx context.Context) error {
	o, err := v.check()
	if err != nil {
		return err
	}
	data, err := v.data.Open(ctx)
	if err != nil {
		return err
	}
	scoring, err := v.report.options()
	if err != nil {
		return err
	}
	if err := checkOutputs(&v.report, &v.data, v.out); err != nil {
		return err
	}
	drafts, err := setup.OpenDrafts(ctx, v.model.Assistant.From, 0)
	if err != nil {
		return err
	}
	stop := v.Loading(&v.log, v.model.Name)
	m, err := v.model.Load(ctx)
	stop()
	if err != nil {
		return err
	}
	defer m.Close()
	e, err := newEvalEngine(m.Model, v.opt)
	if err != nil {
		return err
	}
	e.drafts = drafts
	o.Run = setup.Identity(m, &v.model, v.made, data.Name)
	return v.all(ctx, e, data, o, scoring)
}

// checkOutputs checks where results will go, before hours of work: reports, and the
// directory for records if it has a name.
func checkOutputs(r *reportFlags, data *setup.DatasetFlags, dir string) error {
	if dir != "" {
		if err := output.Dir(dir); err != nil {
			return err
		}
	}
	return r.check(append(slices.Clone(data.Audio), data.Path)...)
}

// check puts the flags into options.
func (v *evalCommand) check() (o eval.Options, err error) {
	logger, err := v.log.Logger(v.Err)
	if err != nil {
		return o, err
	}
	v.opt = v.decoding.Options(logger)
	if err := v.sound.Check(); err != nil {
		return o, err
	}
	if v.shard != "" {
		if o.Shard, err = parseShard(v.shard); err != nil {
			return o, command.UsageError{Err: err}
		}
	}
	o.Dir, o.Workers, o.Limit, o.Sound = v.out, v.batch, v.data.Limit, v.sound.Input
	return o, nil
}

// indexVariable is the index of a pod among those of its Job, from 0.
const indexVariable = "JOB_COMPLETION_INDEX"

// parseShard reads "2/4", or "index/4" in a pod that has an index.
func parseShard(s string) (eval.Shard, error) {
	of, ok := strings.CutPrefix(s, "index/")
	if !ok {
		return eval.ParseShard(s)
	}
	index := os.Getenv(indexVariable)
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil {
		return eval.Shard{}, fmt.Errorf("shard %s: $%s is %q, want the number of a pod of an Indexed Job, from 0", s, indexVariable, index)
	}
	return eval.ParseShard(fmt.Sprintf("%d/%s", i+1, of))
}

// all runs the dataset and reports on it.
func (v *evalCommand) all(ctx context.Context, e eval.Engine, data *setup.Corpus, o eval.Options, scoring report.Options) error {
	name := v.model.Name
	if v.out != "" {
		name = v.out
	}
	set, err := report.NewSet(name, scoring)
	if err != nil {
		return err
	}
	bar := command.NewTally(v.Env, v.log.Quiet, v.log.Progress, func() int { return share(data.Count(ctx), o.Shard) })
	var scored error
	o.Watch = func(r *report.Record) {
		if _, err := set.Add(ctx, r); err != nil {
			scored = err
		}
		bar.Add(fmt.Sprintf("WER %.1f %%, %s real time", 100*set.Rate(), show.Times(set.RTFx())))
	}
	sum, err := eval.Run(ctx, e, data.All(ctx), o)
	bar.Clear()
	if sum.Torn && !v.log.Quiet {
		fmt.Fprintf(v.Err, "verity eval: %s had a torn last line: that utterance was run again\n", sum.Path)
	}
	if err != nil {
		return err
	}
	if scored != nil {
		return scored
	}
	if !v.log.Quiet {
		fmt.Fprint(v.Err, remarks(sum, o.Shard))
	}
	d := &report.Document{Scores: []*report.Score{set.Score()}}
	if err := v.report.write(ctx, v.Env, d); err != nil {
		return err
	}
	return verdict(d)
}

// remarks returns remarks about a run that its score does not show.
func remarks(sum eval.Summary, s eval.Shard) string {
	switch {
	case sum.Retried > 0:
		return fmt.Sprintf("verity eval: %d records were there, %d are new; %d that had failed were tried again\n", sum.Resumed, sum.Done, sum.Retried)
	case sum.Resumed > 0:
		return fmt.Sprintf("verity eval: %d records were there, %d are new\n", sum.Resumed, sum.Done)
	case sum.Done == 0: // of the whole, there is at least one row
		return fmt.Sprintf("verity eval: shard %v is empty: there are fewer rows than shards\n", s)
	}
	return ""
}

// share is how many of n rows a shard has.
func share(n int, s eval.Shard) int {
	if s.Of == 0 || n == 0 {
		return n
	}
	return (n - s.I + s.Of) / s.Of
}
