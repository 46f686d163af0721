package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/eval"
	"verity/internal/show"
	"verity/report"
	"verity/transcribe"
)

const compareHelp = `Compare runs every utterance with plain decoding and with the assistant, in turn,
after a warm-up, and holds the results against each other to the bit: tokens,
log-probabilities, no-speech probabilities, temperatures, segment times and texts.
It says what the assistant gained in decoding and on the whole way from sound to
text: the geometric mean over pairs of runs with its 95 % interval (Student's t of the
logarithms), and the median with the 5th and 95th percentile; how many of its tokens
were accepted, and what theory expects of that. A speed-up whose interval contains 1
is inconclusive, and marked so. Noise is the ratio of the times of encoding, the same
work in both arms: gains of that size mean nothing.

With --batch N each arm runs N utterances at the same time, in groups: they share
every pass over the weights, those of the assistant too. A pair is then a group, and
what it took is the clock's: of decoding, the time in which any utterance of the group
was being decoded and none encoded. Bits are still held against each other utterance
by utterance. The same --audio may be named several times. With --group M a pair is M
utterances, N of them at a time: one that ends makes room for the next, which begins
beside others that are half way, as in transcribe and eval. Short utterances, too,
are timed better in groups: a hiccup of the machine is a smaller part of them.

With several arms, as in --precision f16,mxfp6,mxfp6+assistant, each runs in turn
with its precision, plain or with the assistant. Each is compared with the first, and with the
first of its own precision: those two must be identical. Between precisions it is
counted what differs: tokens, and word errors with the interval of their paired
difference. The page replays all arms side by side.

If nothing was drafted, equality proves nothing: that is "inconclusive".

  verity compare --audio talk.wav --repeats 9
  verity compare --audio talk.wav --audio talk.wav --batch 2
  verity compare --dataset LibriSpeech/test-clean --model ~/whisper-large-v2 \
      --assistant ~/distil-large-v2 --html compare.html
  verity compare --dataset LibriSpeech/test-clean --model ~/whisper-large-v2 \
      --assistant self --precision f16,mxfp6,mxfp6+assistant --html compare.html

Exit status: 0 identical, 1 some utterance failed, 2 wrong usage, 3 a bit differs, or
inconclusive.`

// A comparing is the compare command with its flags.
type comparing struct {
	env
	model    modelFlags
	sound    soundFlags
	decoding decodingFlags
	log      logFlags
	data     datasetFlags
	report   reportFlags
	out      string
	warmups  int
	repeats  int
	batch    int
	group    int
	made     *pflag.FlagSet

	opt transcribe.Options
}

// A contest holds the two engines of a comparison and their state.
type contest struct {
	eval.Arms
	runs   report.Pair[report.Run]
	memory *report.Pair[int64] // nil if not measured
	broken func() error        // returns why the assistant could not draft; nil if unknown
	close  func()
}

func compareCommand(e env) *cobra.Command { return compareWith(e, openArms) }

// compareWith returns the command with a function that opens its engines.
func compareWith(e env, open func(context.Context, *comparing, *corpus) (*contest, error)) *cobra.Command {
	_, c := newComparing(e, open)
	return c
}

// newComparing returns the command and the struct of its flags.
func newComparing(e env, open func(context.Context, *comparing, *corpus) (*contest, error)) (*comparing, *cobra.Command) {
	v := &comparing{env: e}
	v.model.arms = new(armsFlag)
	c := &cobra.Command{
		Use:   "compare --dataset PATH | --audio FILE... [flags]",
		Short: "Compare plain and assisted decoding, to the bit",
		Long:  compareHelp,
		RunE: func(c *cobra.Command, more []string) error {
			return v.run(c.Context(), more, open)
		},
	}
	addFlags(c,
		flagGroup{commonFlags, v.registerAudio},
		flagGroup{commonFlags, v.data.registerPath},
		flagGroup{inputFlags, v.data.register},
		flagGroup{runFlags, v.registerRuns},
		flagGroup{reportFlagGroup, v.report.register},
		flagGroup{logFlagGroup, v.log.registerRun},
	)
	v.made = addDecoding(c, &v.model, &v.sound, &v.decoding)
	v.data.complete(c)
	v.report.complete(c)
	must(c.MarkFlagDirname("out"))
	return v, c
}

// runFlags is the title of the flags for the number of runs.
const runFlags = "Runs"

func (v *comparing) registerAudio(f *pflag.FlagSet) {
	f.StringArrayVar(&v.data.audio, "audio", nil, "sound `file` to run instead of a dataset; more may follow")
	f.StringVarP(&v.out, "out", "o", "", "keep the records of both arms in this `directory`")
}

func (v *comparing) registerRuns(f *pflag.FlagSet) {
	f.IntVar(&v.repeats, "repeats", 1, "run each utterance this `number` of times in each arm")
	bind(f, "batch", &v.batch)
	redefine(f, "batch", "1", "`number` of utterances that each arm runs at the same time, timed together")
	f.IntVar(&v.group, "group", 0, "`number` of utterances in a pair, --batch of them at a time; 0 for as many as --batch")
	f.IntVar(&v.warmups, "warmup", 1, "`number` of utterances to run first in each arm, unmeasured: at least --batch. "+
		"One runs in any case, for the memory")
}

func (v *comparing) run(ctx context.Context, more []string, open func(context.Context, *comparing, *corpus) (*contest, error)) error {
	if err := v.check(more); err != nil {
		return err
	}
	scoring, err := v.report.options()
	if err != nil {
		return err
	}
	data, err := v.data.open(ctx)
	if err != nil {
		return err
	}
	if err := checkOutputs(&v.report, &v.data, v.out); err != nil {
		return err
	}
	if v.model.arms.list != nil {
		return v.runArms(ctx, data, scoring)
	}
	stop := v.loading(&v.log, v.model.name)
	arms, err := open(ctx, v, data)
	stop()
	if err != nil {
		return err
	}
	defer arms.close()
	bar := newTally(v.env, v.log.quiet, v.log.progress, func() int { return data.count(ctx) })
	different := 0
	pairs, err := eval.Compare(ctx, arms.Arms, data.all(ctx), eval.CompareOptions{
		Warmups: -1, // openArms warmed up
		Repeats: v.repeats, Batch: v.batch, Group: v.group, Ready: v.ready, Limit: v.data.limit, Dir: v.out, Unscored: data.unscored, Sound: v.sound.Input,
		Runs: arms.runs, Score: scoring,
		Watch: func(_ []*report.Record, what []string) {
			if len(what) > 0 {
				different++
			}
			bar.add(fmt.Sprintf("%d differ", different))
		},
	})
	bar.clear()
	if err != nil {
		return err
	}
	if c := pairs.Comparison(); c.Resumed > 0 && !v.log.quiet {
		v.complain(nil, resumedText(c, v.batch))
	}
	return v.conclude(ctx, pairs, arms)
}

// resumedText describes the records of an earlier run.
func resumedText(c *report.Comparison, batch int) string {
	text := fmt.Sprintf("verity compare: %s there, %d are new", pairsWere(c.Resumed), c.Utterances+c.Failed-c.Resumed)
	if batch > 1 {
		text += "; times of batches are not kept, so the speed-ups are of the new ones alone"
	}
	return text
}

func pairsWere(n int) string {
	if n == 1 {
		return "1 pair was"
	}
	return show.Count(n) + " pairs were"
}

// ready makes sure that something is drafted; otherwise there would be nothing to
// compare.
func (v *comparing) ready() {
	if a := v.model.assistant.auto; a != nil {
		a.Try()
	}
}

// check validates the flags and turns them into options.
func (v *comparing) check(more []string) error {
	switch {
	case len(more) > 0 && len(v.data.audio) == 0:
		return usagef("no arguments are taken without --audio: got %q", more[0])
	case v.repeats < 1:
		return usagef("--repeats %d: must be 1 or more", v.repeats)
	case v.group < 0:
		return usagef("--group %d: must be 0 or more", v.group)
	case v.warmups < 0:
		return usagef("--warmup %d: must be 0 or more", v.warmups)
	}
	if err := v.sound.check(); err != nil {
		return err
	}
	v.data.audio = append(v.data.audio, more...)
	if v.model.arms.list == nil && v.model.assistant.method(v.model.name) == string(transcribe.None) {
		return usagef("there is nothing to compare without an assistant: name one with --assistant (self, ngram, bigram or a directory)")
	}
	if v.data.path == "" && len(v.data.audio) == 0 {
		return usagef("nothing to run: name a dataset with --dataset PATH or sound files with --audio FILE")
	}
	if err := v.model.assistant.comparable(); err != nil {
		return err
	}
	logger, err := v.log.logger(v.err)
	if err != nil {
		return err
	}
	v.opt = v.decoding.options(logger)
	return err
}

// conclude writes the comparison and returns the error that decides the exit status.
func (v *comparing) conclude(ctx context.Context, pairs *report.Pairs, arms *contest) error {
	c := pairs.Comparison()
	a, b := pairs.Baseline.Score(), pairs.Assisted.Score()
	c.Memory = arms.memory
	if v.batch <= 1 { // in a batch, times overlap and their sums are too high
		c.Predicted = eval.Predict(a, b)
	}
	d := &report.Document{Scores: []*report.Score{a, b}, Comparisons: []*report.Comparison{c}}
	if err := v.report.write(ctx, v.env, d, c.JSON); err != nil {
		return err
	}
	switch {
	case c.Verdict == report.Different:
		ids := make([]string, 0, 5)
		for _, f := range c.Differences[:min(len(c.Differences), 5)] {
			ids = append(ids, f.ID)
		}
		return differsError{fmt.Errorf("%s: %s", differText(c.Different), strings.Join(ids, ", "))}
	case c.Verdict == report.Inconclusive && c.Failed == 0:
		return differsError{fmt.Errorf("inconclusive: nothing was drafted%s", arms.why())}
	case c.Verdict == report.Inconclusive && c.Utterances > 0:
		return differsError{fmt.Errorf("inconclusive: nothing was drafted; %s%s", failedText(c.Failed), arms.why())}
	}
	return judged(d)
}

// why returns the reason why nothing was drafted, if it is known.
func (c *contest) why() string {
	if c.broken != nil {
		if err := c.broken(); err != nil {
			return ": " + err.Error()
		}
	}
	return ""
}

// openArms opens the model plain, warms it up and measures it, then gives it its
// assistant.
func openArms(ctx context.Context, v *comparing, data *corpus) (*contest, error) {
	plain := v.model
	plain.assistant.name = "none"
	m, err := plain.load(ctx)
	if err != nil {
		return nil, err
	}
	c := &contest{close: m.close}
	if err := c.open(ctx, v, m, data); err != nil {
		m.close()
		return nil, err
	}
	return c, nil
}

func (c *contest) open(ctx context.Context, v *comparing, m *loaded, data *corpus) (err error) {
	if c.Baseline, err = newEvalEngine(m.Model, v.opt); err != nil {
		return err
	}
	plain := v.model
	plain.assistant.name = "none"
	c.runs.Baseline = identity(m, &plain, v.made, data.name)
	c.runs.Assisted = identity(m, &v.model, v.made, data.name)
	if err := eval.WarmUp(ctx, c.Baseline, data.all(ctx), max(1, v.warmups), v.batch, v.sound.Input); err != nil {
		return err
	}
	memory := report.Pair[int64]{Baseline: resident()}
	if c.Assisted, err = c.assisted(ctx, v, m); err != nil {
		return err
	}
	if err := eval.WarmUp(ctx, c.Assisted, data.all(ctx), max(1, v.warmups), v.batch, v.sound.Input); err != nil {
		return err
	}
	if memory.Assisted = resident(); memory.Baseline > 0 && memory.Assisted > 0 {
		c.memory = &memory
	}
	return nil
}

// assisted returns the engine with the assistant that the flags name.
func (c *contest) assisted(ctx context.Context, v *comparing, m *loaded) (eval.Engine, error) {
	with, err := m.assisted(ctx, &v.model.assistant)
	if err != nil {
		return nil, err
	}
	e, err := newEvalEngine(with, v.opt)
	if err != nil {
		return nil, err
	}
	c.broken = e.assistantError
	return e, nil
}
