package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/internal/output"
	"verity/internal/show"
	"verity/model/synth"
)

const synthHelp = `Synth generates two untrained Whisper checkpoints with the shape of a real model and
known output, OUT/target and OUT/assistant. The target produces the same words for any
audio; the assistant agrees with it at a share of positions that you choose, placed at
random. All matrices hold random numbers, so each checkpoint needs the time and memory
of the real model: use them to measure on your own machine, with nothing to download.
They also load in transformers.

The text of a window is sentences of random words between timestamps, or TEXT, such as
that of your recording. It passes the default thresholds. The language is detected as English.

  verity synth --size large-v2 --alpha 0.8 --out /tmp/planted
  verity compare --model /tmp/planted/target \
    --assistant /tmp/planted/assistant talk.wav

Only a checkpoint at OUT that synth wrote is overwritten.

Exit status: 0 both were written, 1 they could not be, 2 wrong usage, 130 interrupted.`

// A synthCommand is the synth command with its flags.
type synthCommand struct {
	cli.Env
	opt synth.Options
	dir string
}

// Synth returns the synth command.
func Synth(e cli.Env) *cobra.Command {
	p := &synthCommand{Env: e, opt: synth.Options{Tokens: 100}}
	c := cli.New("synth --out DIR [TEXT]",
		"Generate a model with known output, and its assistant", synthHelp, p.write)
	f := c.Flags()
	f.StringVar(&p.opt.Size, "size", "tiny",
		"published `name` of the target's shape: tiny, base, small, medium, large-v2, large-v3, large-v3-turbo, …")
	f.Float64Var(&p.opt.Alpha, "alpha", 0.8, "`share` of a window's positions where the assistant agrees, 0 to 1")
	f.StringVarP(&p.dir, "out", "o", "", "`directory` for target and assistant")
	f.StringVar((*string)(&p.opt.Assistant), "assistant", string(synth.Distil),
		"distil: two decoder layers on the target's encoder;\ntiny: a complete Whisper model of size tiny")
	f.Uint64Var(&p.opt.TextSeed, "seed", 1, "`number` that determines the words and the assistant's errors")
	cli.Title(f, "Models")
	cli.Must(c.MarkFlagDirname("out"))
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return cli.Usagef("want one TEXT, got %d words; put it in quotes", len(args))
		}
		return nil
	}
	return c
}

func (p *synthCommand) write(ctx context.Context, args []string) error {
	p.opt.Text = strings.Join(args, "")
	if p.dir == "" {
		return cli.Usagef("--out is missing: want the directory for both models")
	}
	if err := cmp.Or(cli.OneOf("size", p.opt.Size, synth.Sizes()...),
		cli.OneOf("assistant", string(p.opt.Assistant), string(synth.Distil), string(synth.Tiny))); err != nil {
		return err
	}
	if err := p.opt.Check(); err != nil {
		return cli.Usagef("--%w", err)
	}
	bar := cli.Bar{W: p.Err}
	if p.ErrTerminal {
		p.opt.Progress = func(dir string, share float64) { bar.Set("writing "+show.Name(filepath.Base(dir)), share) }
	}
	target, assistant, err := synth.Write(ctx, p.dir, p.opt)
	bar.Clear()
	if errors.As(err, new(*output.Error)) {
		err = fmt.Errorf("--out %w", err)
	}
	if err != nil {
		return err
	}
	p.print(target)
	p.print(assistant)
	return nil
}

// print describes a written checkpoint on standard output.
func (p *synthCommand) print(w synth.Output) {
	fmt.Fprintf(p.Out, "%s  %s weights in f16, %s; %d + %d layers of width %d; planted: %v\n",
		show.Name(filepath.Clean(w.Dir)), show.Rounded(w.Weights), show.Bytes(w.Bytes), w.Dims.AudioLayers, w.Dims.TextLayers, w.Dims.TextWidth, &w.Plant)
}
