package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/bench"
	"verity/internal/options"
	"verity/internal/show"
	"verity/model"
	"verity/parallel"
	"verity/synth"
)

const benchHelp = `Bench measures what this machine can do at best, in arithmetic and in reading
memory, and how near to that a model comes: log-mel, encoder, cross-attention keys
and values, one decode step, and passes of 1 to 16 rows as they verify drafts.

With --size a published shape is measured with random weights in memory: nothing is
downloaded, nothing is written. Leave the machine alone meanwhile. large-v2 takes
one to three minutes on two cores. With --model, loading is measured as well and
compared with reading the file; the file is dropped from the system's cache before
each.

Shares are of what the machine can do: of arithmetic, the time that the operations
take at the best speed over the time measured; of bandwidth, the same for the bytes
that a step must read; of a pass, for the larger of both.

To measure precisions and assistants on real sound, take verity compare.

  verity bench --size large-v2
  verity bench --size large-v2 --precision int8 --json > bench.json
  verity plan --from bench.json --alpha 0.8 --cost 0.1

Exit status: 0 done, 1 the model cannot be read, 2 wrong usage.`

// A benching is the bench command with its flags.
type benching struct {
	env
	model, size string
	precision   precisionFlag
	threads     int
	load, json  bool
}

func benchCommand(e env) *cobra.Command {
	b := &benching{env: e}
	c := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure speed as a share of what the machine can do",
		Long:  benchHelp,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return b.run(c.Context()) },
	}
	addFlags(c, b.register)
	must(c.RegisterFlagCompletionFunc("size", cobra.FixedCompletions(synth.Sizes(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (b *benching) register(f *pflag.FlagSet) {
	bind(f, "model", &b.model)
	f.StringVar(&b.size, "size", "", "published `name` of a shape to measure with random weights: tiny, base, small, "+
		"medium, large-v2, large-v3, large-v3-turbo, …")
	addOption(f, "precision", func(v options.Value) error { return b.precision.Set(v.Text) })
	bind(f, "threads", &b.threads)
	f.BoolVar(&b.load, "load", false, "measure nothing but loading, several times, from a cold disk, and compare it with reading "+
		"the file")
	bind(f, "json", &b.json)
}

func (b *benching) run(ctx context.Context) error {
	if b.load && (b.model == "" || b.model == defaultModel) {
		return usagef("--load measures reading from a disk: name a checkpoint with --model DIR")
	}
	planted := false
	open := func(ctx context.Context) (*model.Checkpoint, error) {
		c, err := b.open(ctx)
		planted = err == nil && synth.Planted(c.FS()) != nil
		return c, err
	}
	pool := parallel.New(b.threads)
	defer pool.Close()
	r, err := bench.Run(ctx, open, bench.Options{Pool: pool, Precision: b.precision.Precision, LoadOnly: b.load, Watch: b.watch})
	b.unwatch()
	if err != nil {
		return err
	}
	r.Random, r.Planted = b.size != "", planted
	if b.json {
		return json.NewEncoder(b.out).Encode(r)
	}
	return r.Write(b.out)
}

// open opens the model, or makes one of the size.
func (b *benching) open(ctx context.Context) (*model.Checkpoint, error) {
	switch {
	case b.size == "" && b.model == "":
		return openCheckpoint(ctx, defaultModel, false)
	case b.size == "":
		return openCheckpoint(ctx, b.model, false)
	case b.model != "":
		return nil, usagef("--model and --size: name one of them")
	}
	if err := oneOf("size", b.size, synth.Sizes()...); err != nil {
		return nil, usageError{err}
	}
	return synth.Open(b.size)
}

// watch shows on a terminal what is being done, in a line that the next one replaces.
func (e env) watch(stage string) {
	if e.errTerminal {
		fmt.Fprintf(e.err, "\r\x1b[K%s …", stage)
	}
}

// loading shows on a terminal that a model is loaded and warmed up, until the function it
// returns is called.
func (e env) loading(l *logFlags, name string) (done func()) {
	if l.quiet || l.progress == "never" {
		return func() {}
	}
	e.watch("loading " + show.Name(name))
	return e.unwatch
}

// unwatch removes the line of watch.
func (e env) unwatch() {
	if e.errTerminal {
		fmt.Fprint(e.err, "\r\x1b[K")
	}
}
