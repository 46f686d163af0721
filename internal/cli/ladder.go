package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/bench"
	"verity/internal/kernel"
	"verity/internal/machine"
	"verity/internal/output"
	"verity/precision"
	"verity/report"
	"verity/transcribe"
)

// allRungs are the precisions of a ladder that names none.
const allRungs = "f32,f16,int8,int8g32,mxfp6,int4"

// A climb is bench --ladder with its flags.
type climb struct {
	rungs     string
	assistant string
	narrow    precisionFlag
	dataset   string
	audio     []string
	language  string
	limit     int
	repeats   int
	chart     string
}

// ladderFlags is the title of the flags of a ladder.
const ladderFlags = "Ladder"

func (l *climb) register(f *pflag.FlagSet) {
	f.StringVar(&l.rungs, "ladder", "", "run the model on sound in each of these `formats`, with commas between: tokens "+
		"per second, MBU, bytes a token, memory and error rate ("+allRungs+" without a value)")
	f.Lookup("ladder").NoOptDefVal = allRungs
	f.StringVarP(&l.assistant, "assistant", "a", "none",
		"run every rung with this assistant, too: `name` as in transcribe")
	f.Var(&l.narrow, "assistant-precision", "format to hold the assistant's weights in")
	f.StringVarP(&l.dataset, "dataset", "d", "", "`path` of a dataset for the ladder; its texts give word error rates")
	f.StringArrayVar(&l.audio, "audio", nil, "sound `file` for the ladder instead of a dataset; more may follow")
	f.StringVarP(&l.language, "language", "l", "auto", "spoken `language`")
	f.IntVar(&l.limit, "limit", 0, "run only the first `number` of utterances")
	f.IntVar(&l.repeats, "repeats", 1, "run each utterance this `number` of times in each arm")
	f.StringVarP(&l.chart, "out", "o", "", "draw the ladder as SVG into this `file`")
}

func (l *climb) complete(c *cobra.Command) {
	must(c.MarkFlagDirname("assistant"))
	must(c.MarkFlagFilename("out", "svg"))
}

// stray returns an error about a flag of the ladder that was given without --ladder.
func (l *climb) stray(f *pflag.FlagSet) (err error) {
	if l.rungs != "" {
		return nil
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(climb).register(own)
	f.Visit(func(x *pflag.Flag) {
		if own.Lookup(x.Name) != nil && err == nil {
			err = usagef("--%s is for --ladder", x.Name)
		}
	})
	return err
}

// climb measures rung after rung, each loaded, run and closed by itself.
func (b *benching) climb(ctx context.Context) error {
	l := &b.ladder
	if err := b.checkLadder(); err != nil {
		return err
	}
	name := cmp.Or(b.model, defaultModel)
	r := &bench.Ladder{
		Schema: bench.LadderSchema, Model: filepath.Base(name), CPU: machine.CPU(), Kernels: kernel.Implementations()[0],
	}
	if l.assistant != string(transcribe.None) {
		r.Assistant = filepath.Base(l.assistant)
	}
	verdict := report.Identical
	for format := range strings.SplitSeq(l.rungs, ",") {
		rung, v, err := b.rung(ctx, r, strings.TrimSpace(format), name)
		if err != nil {
			return err
		}
		r.Rungs = append(r.Rungs, rung)
		if v == report.Different || v == report.Inconclusive && verdict == report.Identical {
			verdict = v
		}
	}
	if err := b.writeLadder(ctx, r); err != nil {
		return err
	}
	switch verdict {
	case report.Different:
		return differsError{errors.New("assisted decoding is not what plain decoding is")}
	case report.Inconclusive:
		return differsError{errors.New("inconclusive: a rung drafted nothing")}
	}
	return nil
}

func (b *benching) checkLadder() error {
	l := &b.ladder
	for format := range strings.SplitSeq(l.rungs, ",") {
		if _, err := precision.Parse(strings.TrimSpace(format)); err != nil {
			return usagef("--ladder %s: %w", l.rungs, err)
		}
	}
	switch {
	case b.size != "":
		return usagef("--ladder with --size %s: random weights say nothing; write a model with verity synth and name it with --model", b.size)
	case b.load:
		return usagef("--ladder and --load: name one of them")
	case l.dataset == "" && len(l.audio) == 0:
		return usagef("--ladder needs sound: name a dataset with --dataset PATH or files with --audio FILE")
	case l.chart != "" && l.chart != output.Stdout && !strings.HasSuffix(strings.ToLower(l.chart), ".svg"):
		return usagef("--out %s: the chart is SVG: want a name that ends in .svg", l.chart)
	}
	return output.Check([]string{l.chart}, l.audio)
}

// arguments are those of compare that run a rung.
func (b *benching) arguments(format, name string) []string {
	l := &b.ladder
	arms := format + "," + format + assistedMark
	if l.assistant == string(transcribe.None) {
		arms = format
	}
	args := []string{
		"--model", name, "--precision", arms, "--assistant", l.assistant, "--language", l.language, "--threads", fmt.Sprint(b.threads),
		"--limit", fmt.Sprint(l.limit), "--repeats", fmt.Sprint(l.repeats),
	}
	if l.narrow.String() != "auto" {
		args = append(args, "--assistant-precision", l.narrow.String())
	}
	if l.dataset != "" {
		args = append(args, "--dataset", l.dataset)
	}
	for _, a := range l.audio {
		args = append(args, "--audio", a)
	}
	return args
}

// rung runs one precision as compare runs arms.
func (b *benching) rung(ctx context.Context, l *bench.Ladder, format, name string) (bench.Rung, report.Verdict, error) {
	g := bench.Rung{Precision: format}
	v, c := newComparing(b.env, nil)
	if err := c.ParseFlags(b.arguments(format, name)); err != nil {
		return g, "", usageError{err}
	}
	if v.model.arms.list == nil {
		v.model.arms.list = []armSpec{{precision: v.model.precision.Precision}}
	}
	if err := v.check(nil); err != nil {
		return g, "", err
	}
	data, err := v.data.open(ctx)
	if err != nil {
		return g, "", err
	}
	b.watch("loading in " + format)
	r, err := openRack(ctx, v, v.model.arms.list, data, report.Options{})
	b.unwatch()
	if err != nil {
		return g, "", err
	}
	defer r.close()
	before := kernel.ReadBandwidth(r.pool, bandwidthTime)
	matches, err := r.race(ctx, v, data, report.Options{})
	if err != nil {
		return g, "", err
	}
	bandwidth := (before + kernel.ReadBandwidth(r.pool, bandwidthTime)) / 2
	score := r.arms[0].Set.Score()
	if score.Failed > 0 || score.Utterances == 0 {
		return g, "", fmt.Errorf("%s: %s", format, cmp.Or(failures(score), "there is no utterance"))
	}
	l.Planted, l.Dataset, l.Utterances, l.Audio, l.Threads = score.Run.Planted, data.name, score.Utterances, score.AudioSeconds, r.pool.Threads()
	g.GBPS, g.Plain = bandwidth/1e9, bench.SpeedOf(r.arms[0].engine.sum(), bandwidth, r.arms[0].memory)
	if score.Scored > 0 && !score.Run.Planted {
		g.WER = &bench.Rate{Value: score.WER, Low: score.WERInterval.Low, High: score.WERInterval.High}
	}
	if len(matches) == 0 {
		return g, report.Identical, nil
	}
	a, x := r.arms[1], matches[0].Pairs.Comparison()
	speed := bench.SpeedOf(a.engine.sum(), bandwidth, a.memory)
	g.Assisted, g.Verdict = &speed, string(x.Verdict)
	g.Speedup = &bench.Speedup{Mean: x.Speedup.Decode.Mean, Interval: x.Speedup.Decode.Interval}
	return g, x.Verdict, nil
}

// failures says why utterances failed, as far as one line tells it.
func failures(s *report.Score) string {
	if s.Failed == 0 {
		return ""
	}
	return failedText(s.Failed) + ": " + s.Failures[0].Error
}

// writeLadder writes the table or JSON, and the chart.
func (b *benching) writeLadder(ctx context.Context, l *bench.Ladder) error {
	var err error
	switch {
	case b.ladder.chart == output.Stdout:
	case b.json:
		err = json.NewEncoder(b.out).Encode(l)
	default:
		err = l.Write(b.out)
	}
	if b.ladder.chart != "" {
		err = errors.Join(err, output.Write(ctx, b.ladder.chart, b.out, l.Draw))
	}
	return err
}
