package measure

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/eval/bench"
	"verity/model"
	"verity/model/synth"
	"verity/parallel"
	"verity/precision"
)

const benchHelp = `Bench measures the peak speed of Verity's kernels on this machine, and of memory reads, and
how close a model comes to it in each stage: log-mel spectrogram, encoder,
cross-attention keys and values, a single decoding step, and passes of 1 to 16 rows,
which verify drafts.

With --size, bench measures a published model shape with random weights in memory: it
downloads nothing and writes nothing. Run nothing else in the meantime. large-v2 takes
one to three minutes on two cores.

A share is the time needed at the peak speed divided by the measured time. The
arithmetic share counts operations, the bandwidth share counts the bytes that a step
must read, and the share of a pass uses whichever of the two takes longer.

To measure precisions and assistants on real audio, use verity compare.

  verity bench --size large-v2
  verity bench --size large-v2 --precision int8 --json > bench.json

Exit status: 0 done, 1 it could not be done, 2 wrong usage, 130 interrupted.`

// A benchCommand is the bench command with its flags.
type benchCommand struct {
	cli.Env
	model, size string
	precision   precision.Precision
	threads     int
	json        bool
}

func Bench(e cli.Env) *cobra.Command {
	b := &benchCommand{Env: e}
	c := cli.New("bench [flags]", "Measure speed as a share of its peak", benchHelp, b.measure)
	f := c.Flags()
	cli.Bind(f, "model", &b.model)
	f.StringVar(&b.size, "size", "", "published `name` of a model shape to measure with random weights: tiny, base, small, "+
		"medium, large-v2, large-v3, large-v3-turbo, …")
	cli.Title(f, "Model")
	cli.Precision(f, "precision", &b.precision)
	cli.Bind(f, "threads", &b.threads)
	cli.Bind(f, "json", &b.json)
	return c
}

func (b *benchCommand) measure(ctx context.Context, _ []string) error {
	c, err := b.openModel(ctx) // bench.Run closes it
	if err != nil {
		return err
	}
	planted := synth.Planted(c.FS()) != nil
	pool := parallel.New(b.threads)
	defer pool.Close()
	r, err := bench.Run(ctx, c, bench.Options{Pool: pool, Precision: b.precision, Watch: b.Stage})
	b.ClearStage()
	if err != nil {
		return err
	}
	r.Random, r.Planted = b.size != "", planted
	if b.json {
		return json.NewEncoder(b.Out).Encode(r)
	}
	return r.Write(b.Out)
}

// openModel opens the model, or makes one of the size.
func (b *benchCommand) openModel(ctx context.Context) (*model.Checkpoint, error) {
	switch {
	case b.size == "":
		return cli.OpenCheckpoint(ctx, cmp.Or(b.model, cli.DefaultModel), false)
	case b.model != "":
		return nil, cli.Usagef("--model and --size: name one of them")
	}
	if err := cli.OneOf("size", b.size, synth.Sizes()...); err != nil {
		return nil, cli.UsageError{Err: err}
	}
	return synth.Open(b.size)
}
