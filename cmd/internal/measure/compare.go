package measure

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/internal/show"
	"verity/transcribe"
)

const compareHelp = `After a warm-up, compare runs every utterance in several variants in turn. By default, the
variants are plain decoding and decoding with the assistant. With --precision
f16,mxfp6,mxfp6+assistant, there is one variant for each of these precisions, with or
without the assistant. Each variant is compared with the first variant and with the first variant of
its own precision.

Variants of the same precision must be bit-identical: tokens, log-probabilities, no-speech
probabilities, temperatures, segment times and texts. If nothing was drafted, equality
proves nothing, and the result is "inconclusive". Between precisions, and with --sampler
rejection, which keeps the distribution of texts and not the text, compare counts the
tokens and word errors that differ, with a confidence interval for the paired difference.

Two speed-ups are measured: decoding alone, and the whole path from audio to text. Each
is reported as the geometric mean over pairs of runs with its 95 % confidence interval
(Student's t on the logarithms); --json has the median and percentiles too. A speed-up
whose interval contains 1 is inconclusive. Noise is the ratio of the encoding times,
which is the same work in both variants: gains of that size mean nothing. The table of variants
shows tokens per second, bytes read per token, read bandwidth and memory.

A table shows what the theory of speculative decoding expects of the assistant: α, the share of
judged draft tokens that were right; c, the time of drafting a token, in steps of the model; γ,
the mean length of a draft; E, the tokens of a round; the speed-up of decoding that follows
from the measured times of passes; the one that was measured; and the paper's own, for which a
pass of any length takes one step. A second table has constant draft lengths. If --assistant is
given several times, there is a variant for each.

If --draft-tokens is given several times, there is a variant for each, and the first is also
compared with each of the others.

compare and eval take values that serve only as baselines: --assistant bigram drafts the token that
most often followed each token earlier; of transformers' rules, --draft-tokens heuristic
drafts 2 more after success and 1 fewer after failure, and confidence drafts until the assistant is
unsure.

With --batch N, each variant runs N utterances at the same time, and they share every pass
over the weights. A pair is then a whole group, timed by the wall clock. Its decoding
time is the time during which at least one of its utterances was being decoded and none
was being encoded. Results are still compared bit for bit, utterance by utterance. The
same file may be given several times.

  verity compare talk.wav
  verity compare talk.wav --assistant self --repeats 9
  verity compare talk.wav -a encoder -a self -a bigram
  verity compare talk.wav --draft-tokens auto --draft-tokens 3 --draft-tokens 5
  verity compare talk.wav talk.wav --assistant self --batch 2
  verity compare --dataset LibriSpeech/test-clean --model ~/whisper-large-v2 \
      --assistant ~/distil-large-v2 --html compare.html
  verity compare --dataset LibriSpeech/test-clean --model ~/whisper-large-v2 \
      --assistant self --precision f16,mxfp6,mxfp6+assistant --html compare.html

Exit status: 0 identical, 1 some utterance failed, 2 wrong usage, 3 results differ or
are inconclusive, 130 interrupted.`

// A compareCommand is the compare command with its flags.
type compareCommand struct {
	datasetRun
	repeats    int
	precisions *specsFlag
	specs      []variantSpec
}

func Compare(e cli.Env) *cobra.Command {
	_, c := newCompare(e)
	return c
}

// newCompare returns the command and the struct of its flags.
func newCompare(e cli.Env) (*compareCommand, *cobra.Command) {
	v := &compareCommand{datasetRun: datasetRun{Run: cli.Run{Env: e}}}
	v.precisions = &specsFlag{one: &v.Model.Precision}
	v.Model.Several = v.precisions
	c := cli.New("compare --dataset PATH | FILE... [flags]", "Compare plain and assisted decoding bit for bit",
		compareHelp, v.compare)
	c.Args = nil
	cli.AddFlags(c,
		v.data.RegisterPath,
		v.data.Register,
		func(f *pflag.FlagSet) {
			cli.Bind(f, "out", &v.out)
			cli.Bind(f, "repeats", &v.repeats)
			cli.Bind(f, "batch", &v.batch)
			cli.Redefine(f, "batch", "1", "`number` of utterances to run at the same time in each variant, timed together")
		},
		v.report.register,
		v.Log.RegisterRun,
	)
	v.addDecoding(c)
	cli.Repeatable(c.Flags(), "assistant", "draft-tokens")
	cli.CompleteSound(c)
	return v, c
}

func (v *compareCommand) compare(ctx context.Context, files []string) error {
	if err := v.check(files); err != nil {
		return err
	}
	data, err := v.openData(ctx)
	if err != nil {
		return err
	}
	stop := v.Loading()
	r := v.newVariants()
	defer r.close()
	err = r.loadAll(ctx, v.specs, data)
	stop()
	if err != nil {
		return err
	}
	d, err := r.compare(ctx, v, data)
	if err != nil {
		return err
	}
	if c := d.Comparisons[0]; c.Resumed > 0 && !v.Log.Quiet {
		v.Complain(resumedText(c, v.batch))
	}
	return v.conclude(d, r.draftFailure())
}

// resumedText describes the records of an earlier run.
func resumedText(c *report.Comparison, batch int) string {
	text := fmt.Sprintf("verity compare: found %s of records, added %d",
		show.Some(c.Resumed, "pair"), c.Utterances+c.Failed-c.Resumed)
	if batch > 1 {
		text += "; times of batches are not recorded, so only the new pairs count in the speed-ups"
	}
	return text
}

// check validates the flags and turns them into options.
func (v *compareCommand) check(files []string) error {
	v.data.Audio = files
	if i := slices.IndexFunc(files, func(f string) bool { return strings.HasPrefix(filepath.Ext(f), ".json") }); i >= 0 {
		return cli.Usagef("%s: is no sound file; verity report %s compares what was measured", show.Name(files[i]), show.Line(strings.Join(files, " ")))
	}
	v.specs = v.precisions.specs()
	if a := &v.Model.Assistant; len(a.Named) > 1 || len(a.Lengths) > 1 {
		flag, values := "assistant", a.Named
		if len(a.Lengths) > 1 {
			flag, values = "draft-tokens", a.Lengths
		}
		if v.precisions.list != nil || a.From != "" || len(a.Named) > 1 && len(a.Lengths) > 1 {
			return cli.Usagef("several values of --%s: each is compared with plain decoding in one --precision, "+
				"without --draft-from and with one value of other flags", flag)
		}
		var err error
		if v.specs, err = specsOf(v.Model.Precision, flag, values); err != nil {
			return err
		}
	}
	if err := cmp.Or(v.prepare(), v.checkVariants()); err != nil {
		return err
	}
	if v.data.Path == "" && len(v.data.Audio) == 0 {
		return cli.Usagef("nothing to run: name a dataset with --dataset PATH, or sound files")
	}
	return nil
}

// checkVariants returns an error about variants that cannot be run, or that can draft nothing.
func (v *compareCommand) checkVariants() error {
	assistant := v.Model.Assistant.For(v.Model.Name)
	none := assistant == string(transcribe.None) && v.Model.Assistant.From == ""
	switch assisted := slices.ContainsFunc(v.specs, func(a variantSpec) bool { return a.assisted }); {
	case none && v.precisions.list == nil:
		return cli.Usagef("there is nothing to compare without an assistant: %s", nameOne)
	case assisted && none:
		return cli.Usagef("--precision %v: there is no assistant: name one with --assistant (self, ngram, bigram or "+
			"a directory)", v.precisions)
	case !assisted && !none && v.Model.Assistant.Name != "auto":
		return cli.Usagef("--assistant %s: no variant has it: write %s after a precision", assistant, assistedMark)
	case assisted && v.opt.BeamSize > 1:
		return cli.Usagef("--beam-size %d searches, and a search drafts nothing: leave it out, or compare --precision f16,int8",
			v.opt.BeamSize)
	case assisted && v.opt.BestOf > 1 && v.opt.Temperatures[0] > 0:
		return cli.Usagef("--best-of %d samples several texts, and those draft nothing: leave it out, or compare "+
			"--precision f16,int8", v.opt.BestOf)
	}
	return nil
}
