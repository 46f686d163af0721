package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/eval"
	"verity/eval/report"
	"verity/internal/show"
)

const evalHelp = `Eval transcribes a dataset and scores the result: word and character error rates with
confidence intervals, errors by kind, speed, and time by stage. --out writes the records
as JSON Lines: the raw text and all other data for each utterance. "verity report" can
score records again, compare them and make an HTML page.

To resume an interrupted run, start it again with the same flags. Rows that cannot be
used (no audio, no text, bad JSON) and audio that cannot be read are counted and
listed; the rest still runs, and the next run tries them again. With --shard 2/4, a run
transcribes the second of every four rows, so that four machines can share a dataset; a
report reads all shards in a directory together.

With --speakers, it also scores who speaks. The reference is an RTTM file of the same
name beside each audio file, or the speakers of the segments in a manifest
(docs/SPEAKERS.md).

  verity eval --dataset LibriSpeech/test-clean --model ~/whisper-small --out out
  verity eval --dataset manifest.jsonl:test --normalizer basic \
    --html report.html

Exit status: 0 done, 1 some utterance failed, 2 wrong usage, 130 interrupted.`

// An evalCommand is the eval command with its flags.
type evalCommand struct {
	datasetRun
	shard   string
	options eval.Options // by check
}

func Eval(e cli.Env) *cobra.Command {
	v := &evalCommand{datasetRun: datasetRun{Run: cli.Run{Env: e}}}
	c := cli.New("eval --dataset PATH [flags]", "Transcribe a dataset and score it", evalHelp, v.evaluate)
	cli.AddFlags(c,
		v.data.RegisterPath,
		v.registerOut,
		v.data.Register,
		func(f *pflag.FlagSet) { cli.Bind(f, "batch", &v.batch) },
		v.report.register,
		v.Log.RegisterRun,
	)
	v.addText(c)
	return c
}

// addText adds the flags that can change the records.
func (v *evalCommand) addText(c *cobra.Command) {
	v.addDecoding(c)
	v.TextFlags.AddFlagSet(cli.AddFlags(c, func(f *pflag.FlagSet) { v.Speakers.Register(f, false, false) }))
}

func (v *evalCommand) registerOut(f *pflag.FlagSet) {
	cli.Bind(f, "out", &v.out)
	f.StringVar(&v.shard, "shard", "", "part of the dataset to run, such as 2/4; index/4 in a pod of a Kubernetes "+
		"Indexed Job reads the part from $JOB_COMPLETION_INDEX")
	cli.Title(f, "Dataset")
}

func (v *evalCommand) evaluate(ctx context.Context, _ []string) error {
	if err := v.check(); err != nil {
		return err
	}
	data, err := v.openData(ctx)
	if err != nil {
		return err
	}
	stop := v.Loading()
	r := v.newVariants()
	defer r.close()
	a, err := r.load(ctx, v.evalSpec(), data.Name)
	stop()
	if err != nil {
		return err
	}
	v.options.Run, v.options.Resources = a.Run, a.resources()
	return v.runDataset(ctx, a.Engine, data, v.options)
}

// check puts the flags into options.
func (v *evalCommand) check() (err error) {
	if err := v.prepare(); err != nil {
		return err
	}
	v.opt.Speakers = v.Speakers.Voices
	v.options = eval.Options{
		Dir: v.out, Workers: v.batch, Limit: v.data.Limit, Sound: v.Sound.Input, Speakers: v.opt.Speakers != nil,
	}
	if v.shard != "" {
		if v.options.Shard, err = parseShard(v.shard); err != nil {
			return cli.Usagef("--%w", err)
		}
	}
	return nil
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
		return eval.Shard{}, fmt.Errorf("shard %s: $%s is %q, want the number of a pod of an Indexed Job, from 0",
			s, indexVariable, index)
	}
	return eval.ParseShard(fmt.Sprintf("%d/%s", i+1, of))
}

// runDataset runs the dataset and reports on it.
func (v *evalCommand) runDataset(ctx context.Context, e eval.Engine, data *cli.Corpus, o eval.Options) error {
	set, err := report.NewSet(cmp.Or(v.out, v.Model.Name), v.report.normalizer)
	if err != nil {
		return err
	}
	bar := v.NewTally(&v.Log, func() int { return share(data.Count(ctx), o.Shard) })
	var scored error
	referred := false // some row says who speaks
	o.Watch = func(r *report.Record) {
		referred = referred || len(r.Speech) > 0 || r.ReferenceTurns != nil
		if err := set.Add(ctx, r); err != nil {
			scored = err
		}
		bar.Add(fmt.Sprintf("WER %.1f %%, %s real time", 100*set.Rate(), show.Times(set.RTFx())))
	}
	sum, err := eval.Run(ctx, e, data.All(ctx), o)
	bar.Clear()
	if sum.Torn {
		v.Note("verity eval: %s had an incomplete last line: its utterance was run again\n", show.Name(sum.Path))
	}
	if err != nil {
		return err
	}
	if scored != nil {
		return scored
	}
	if v.Drafts != nil && sum.Done > 0 && !v.Drafts.Found() {
		slog.Warn("nothing to draft from was found for any utterance", "draft-from", v.Model.Assistant.From)
	}
	if o.Speakers && !referred {
		slog.Warn("--speakers: the dataset does not say who speaks, so nothing of it is scored; " +
			"want NAME.rttm beside NAME.wav, or a speaker in each segment of a manifest")
	}
	v.remark(sum, o.Shard)
	return v.conclude(&report.Document{Scores: []*report.Score{set.Score()}}, "")
}

// conclusion returns the verdict on a run: a comparison must also have drafted something.
func conclusion(d *report.Document, cause string) error {
	err := verdict(d)
	if d.Verdict() != report.Inconclusive || errors.As(err, new(cli.DiffersError)) {
		return err
	}
	if err != nil && d.Comparisons[0].Utterances == 0 {
		return err // nothing could be run at all
	}
	text := "inconclusive: nothing was drafted"
	if err != nil {
		text += "; " + err.Error()
	}
	if cause != "" {
		text += ": " + cause + " (--assistant none)"
	}
	return cli.DiffersError{Err: errors.New(text)}
}

// remark notes about a run what its score does not show.
func (v *evalCommand) remark(sum eval.Summary, s eval.Shard) {
	switch {
	case sum.Retried > 0:
		v.Note("verity eval: found %d records, added %d; tried %d again that had failed\n", sum.Resumed, sum.Done, sum.Retried)
	case sum.Resumed > 0:
		v.Note("verity eval: found %d records, added %d\n", sum.Resumed, sum.Done)
	case sum.Done == 0: // a whole dataset has at least one row
		v.Note("verity eval: shard %v is empty: there are fewer rows than shards\n", s)
	}
}

// share is how many of n rows a shard has.
func share(n int, s eval.Shard) int {
	if s.Of == 0 || n == 0 {
		return n
	}
	return (n - s.I + s.Of) / s.Of
}
