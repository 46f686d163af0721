package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

Exit status: 0 done, 1 some utterance failed, 2 wrong usage, 130 interrupted.`

// An evalCommand is the eval command with its flags.
type evalCommand struct {
	runs
	shard string
}

// runs are the flags of commands that run a dataset.
type runs struct {
	command.Env
	model    setup.ModelFlags
	sound    setup.SoundFlags
	decoding setup.DecodingFlags
	log      command.LogFlags
	data     setup.DatasetFlags
	report   reportFlags
	out      string
	batch    int
	made     *pflag.FlagSet // flags that decide on the records

	opt    transcribe.Options
	drafts *setup.DraftSource
}

func Eval(e command.Env) *cobra.Command {
	v := &evalCommand{runs: runs{Env: e}}
	c := command.New("eval --dataset PATH [flags]", "Transcribe a dataset and score it", evalHelp, v.run)
	command.AddFlags(c,
		v.data.RegisterPath,
		command.Titled(options.Dataset, v.registerOut),
		v.data.Register,
		func(f *pflag.FlagSet) { command.Bind(f, "batch", &v.batch) },
		v.report.register,
		v.log.RegisterRun,
	)
	v.addDecoding(c)
	return c
}

func (v *evalCommand) registerOut(f *pflag.FlagSet) {
	command.Bind(f, "out", &v.out)
	f.StringVar(&v.shard, "shard", "", "part of the dataset to run, such as 2/4; index/4 in a pod of a Kubernetes "+
		"Indexed Job takes the part from $JOB_COMPLETION_INDEX")
}

// addDecoding adds the flags that decide on what is in the records.
func (r *runs) addDecoding(c *cobra.Command) {
	r.made = command.AddFlags(c, r.model.Register, r.sound.Register, r.decoding.Register(0))
}

// open opens what is run, and checks where results will go, before hours of work.
func (r *runs) open(ctx context.Context) (*setup.Corpus, error) {
	data, err := r.data.Open(ctx)
	if err != nil {
		return nil, err
	}
	if r.out != "" {
		if err := output.Dir(r.out); err != nil {
			return nil, err
		}
	}
	if err := r.report.check(append(slices.Clone(r.data.Audio), r.data.Path)...); err != nil {
		return nil, err
	}
	files := slices.Compact(slices.Sorted(slices.Values(r.data.Audio)))
	if r.drafts, err = setup.OpenDrafts(ctx, r.model.Assistant.From, len(files)); err == nil && len(files) > 0 {
		err = r.drafts.Check(ctx, r.data.Audio)
	}
	return data, err
}

func (v *evalCommand) run(ctx context.Context, _ []string) error {
	o, err := v.check()
	if err != nil {
		return err
	}
	data, err := v.open(ctx)
	if err != nil {
		return err
	}
	stop := v.Loading(&v.log, v.model.Name)
	r := v.newArms()
	defer r.close()
	a, err := r.load(ctx, v.whole(), data.Name)
	stop()
	if err != nil {
		return err
	}
	o.Run = a.Run
	return v.all(ctx, a.Engine, data, o)
}

// whole is the arm of eval: the model and the assistant that the flags name.
func (r *runs) whole() armSpec { return armSpec{"records", r.model.Precision.Precision, true} }

// prepare makes the log and the options of decoding.
func (r *runs) prepare() error {
	r.opt = r.decoding.Options(r.log.Logger(r.Env))
	return r.sound.Check()
}

// check puts the flags into options.
func (v *evalCommand) check() (o eval.Options, err error) {
	if err := v.prepare(); err != nil {
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
func (v *evalCommand) all(ctx context.Context, e eval.Engine, data *setup.Corpus, o eval.Options) error {
	set, err := report.NewSet(cmp.Or(v.out, v.model.Name), v.report.normalizer)
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
	if v.drafts != nil && sum.Done > 0 && !v.drafts.Found() {
		slog.Warn("nothing to draft from was found for any utterance", "draft-from", v.model.Assistant.From)
	}
	if !v.log.Quiet {
		fmt.Fprint(v.Err, remarks(sum, o.Shard))
	}
	return v.Conclude(ctx, &report.Document{Scores: []*report.Score{set.Score()}}, "")
}

// Conclude writes the report. The error decides the exit status; why says why nothing was
// drafted, if it is known.
func (r *runs) Conclude(ctx context.Context, d *report.Document, why string) error {
	return cmp.Or(r.report.write(ctx, r.Env, d), conclusion(d, why))
}

// conclusion is verdict for what was run: a comparison must have drafted something.
func conclusion(d *report.Document, why string) error {
	err := verdict(d)
	if d.Verdict() != report.Inconclusive || errors.As(err, new(command.DiffersError)) {
		return err
	}
	if err != nil && d.Comparisons[0].Utterances == 0 {
		return err // nothing could be run at all
	}
	text := "inconclusive: nothing was drafted"
	if err != nil {
		text += "; " + err.Error()
	}
	return command.DiffersError{Err: errors.New(text + why)}
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
