package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/datasets"
	"verity/eval"
	"verity/internal/option"
	"verity/internal/show"
	"verity/model"
	"verity/model/quantize"
	"verity/parallel"
	"verity/transcribe"
)

const quantizeHelp = `Quantize writes a low-bit copy of a checkpoint. Matrices are stored as groups of 32
small integers with one scale per group; norms, biases, positions and convolutions are
unchanged. With every format, the activations are rounded to int8 when the model runs. The result is a directory for --model, about as small as the bit count
suggests:

  int8   8 bits per weight, with a scale per row instead of groups
  mxfp6  6.25: OCP Microscaling with E2M3 elements
  int4   4.5, or 4.63 in layers where a zero point per group is worth it

int8 encodes fastest, and int4 decodes fastest.

  verity quantize ~/whisper-small --precision int8 --out ~/small-int8
  verity quantize ~/whisper-small --precision int4 --dataset LibriSpeech/dev-clean \
    --limit 50 --out ~/whisper-small-int4

With --dataset, the model transcribes the dataset first, and GPTQ then rounds each layer
so that its outputs on that speech change least. Use speech like the speech you will
transcribe, in all its languages; ten minutes are enough. Each row is transcribed in the
language of its lang field, or in the detected language if it has none. Without a
dataset, and to int8, weights are rounded to nearest. A table shows, for each layer, how far its
error is below its outputs (without calibration: below its weights) in decibels, next to
the figure for rounding to nearest.

The directory must be new or empty: nothing is overwritten.

Exit status: 0 done, 1 it could not be done, 2 wrong usage, 130 interrupted.`

// A quantizeCommand is the quantize command with its flags.
type quantizeCommand struct {
	cli.Env
	data    cli.DatasetFlags
	opt     quantize.Options
	dir     string
	threads int
	quiet   bool
	bar     cli.Bar
}

// Quantize returns the quantize command.
func Quantize(e cli.Env) *cobra.Command {
	q := &quantizeCommand{Env: e, bar: cli.Bar{W: e.Err}}
	c := cli.New("quantize MODEL --precision FORMAT --out DIR", "Quantize a model", quantizeHelp, q.quantize)
	c.Args = cli.OneArg("one model, as in verity quantize small --precision int4 --out small-int4")
	c.ValidArgsFunction, c.SuggestFor = cli.CompleteModel, []string{"convert"}
	f := c.Flags()
	f.StringVar(&q.opt.Format, "precision", "", "`format`: "+show.JoinOr(quantize.Formats()))
	cli.Title(f, "Quantization")
	q.data.RegisterPath(f)
	cli.Redefine(f, "dataset", "", "`path` of a speech dataset for calibration, in any form that eval accepts; "+
		"its texts are not used")
	cli.Bind(f, "out", &q.dir)
	cli.Redefine(f, "out", "", "`directory` to write to")
	cli.Bind(f, "threads", &q.threads)
	cli.Bind(f, "quiet", &q.quiet)
	return c
}

func (q *quantizeCommand) check() error {
	switch {
	case q.opt.Format == "":
		return cli.Usagef("--precision FORMAT is needed: %s", show.JoinOr(quantize.Formats()))
	case q.dir == "":
		return cli.Usagef("--out is missing: want the directory for the model")
	}
	if q.opt.Format == "int8" && q.data.Path != "" {
		return cli.Usagef("--dataset has no effect with --precision int8; leave one of them out")
	}
	if _, err := quantize.ParseFormat(q.opt.Format); err != nil {
		return cli.Usagef("--precision %s: %w", q.opt.Format, err)
	}
	if files, err := os.ReadDir(q.dir); err == nil && len(files) > 0 { // perhaps hours of work
		return cli.Usagef("--out %s: exists, and is not empty; name another directory", show.Name(q.dir))
	}
	return nil
}

func (q *quantizeCommand) quantize(ctx context.Context, args []string) error {
	if err := q.check(); err != nil {
		return err
	}
	c, err := cli.OpenCheckpoint(ctx, args[0], false)
	if err != nil {
		return err
	}
	defer c.Close()
	q.opt.Pool = parallel.New(q.threads)
	defer q.opt.Pool.Close()
	if q.data.Path != "" {
		data, err := q.data.Open(ctx)
		if err != nil {
			return err
		}
		q.opt.Calibrate = func(ctx context.Context, c *model.Checkpoint) error { return q.calibrate(ctx, c, data) }
	}
	q.opt.Progress = func(done, total int64) { q.show("rounding", float64(done), float64(total)) }
	began := time.Now()
	results, err := quantize.Write(ctx, c, q.dir, q.opt)
	q.bar.Clear()
	if errors.Is(err, quantize.ErrQuantised) {
		err = cli.Unusable(err)
	}
	if err != nil || q.quiet {
		return err
	}
	return q.print(ctx, results, c, time.Since(began))
}

// calibrate runs the model over the dataset.
func (q *quantizeCommand) calibrate(ctx context.Context, c *model.Checkpoint, data *cli.Corpus) error {
	m, err := transcribe.Load(ctx, c, transcribe.LoadOptions{Pool: q.opt.Pool})
	if err != nil {
		return err
	}
	defer m.Close()
	h := calibration{model: m, in: map[string]*transcribe.Transcriber{}}
	done, total := 0, data.Count(ctx)
	for u, err := range data.All(ctx) {
		if err == nil {
			err = h.observe(ctx, u)
		}
		var (
			bad     *datasets.RowError
			unknown *option.Error
		)
		switch {
		case errors.As(err, &bad):
			fmt.Fprintf(q.Err, "left out: %s\n", show.Line(err.Error()))
			continue
		case errors.As(err, &unknown):
			fmt.Fprintf(q.Err, "left out: %s: language %s: %s\n",
				show.Name(u.ID), show.Line(fmt.Sprint(unknown.Value)), unknown.Reason)
			continue
		case err != nil:
			return err
		}
		if done++; q.data.Limit > 0 && done == q.data.Limit {
			break
		}
		q.show("listening", float64(done), float64(total))
	}
	q.bar.Clear()
	return nil
}

// A calibration transcribes utterances for their activations, each in its own language.
type calibration struct {
	model *transcribe.Model
	in    map[string]*transcribe.Transcriber // by language; "" detects it
}

func (h *calibration) observe(ctx context.Context, u datasets.Utterance) error {
	language, _, _ := strings.Cut(u.Lang, "-") // sv-SE
	t := h.in[language]
	if t == nil {
		var err error
		if t, err = transcribe.New(h.model, transcribe.Options{Language: language}); err != nil {
			return err
		}
		h.in[language] = t
	}
	clip, err := eval.OpenSound(ctx, u, audio.Input{})
	if err != nil {
		return err
	}
	defer clip.Close()
	_, err = t.Transcribe(ctx, clip, transcribe.Callbacks{})
	return err
}

// show moves the bar.
func (q *quantizeCommand) show(what string, done, total float64) {
	if q.ErrTerminal && !q.quiet && total > 0 {
		q.bar.Set(what, done/total)
	}
}

func (q *quantizeCommand) print(
	ctx context.Context, results []quantize.Result, from *model.Checkpoint, took time.Duration,
) error {
	t := tabwriter.NewWriter(q.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "weights\tformat\tbits\trtn, dB\tkept, dB\tmethod\t  ")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.1f\t%.1f\t%s\t  %s\n",
			show.Count(int(r.Weights)), r.Format, 8*float64(r.Bytes)/float64(r.Weights),
			quantize.Decibels(r.Nearest), quantize.Decibels(r.Error), r.Method, r.Name)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	c, err := model.Open(ctx, q.dir)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintf(q.Err, "%s: %s of weights, %s before; in %.1f s\n",
		show.Name(filepath.Clean(q.dir)), show.Bytes(c.Bytes()), show.Bytes(from.Bytes()), took.Seconds())
	return nil
}
