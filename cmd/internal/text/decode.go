package text

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"verity/audio"
	"verity/cmd/internal/cli"
)

const decodeHelp = `Decode writes the sound of a file to standard output: one channel of samples at 16,000 Hz,
32-bit floats, little-endian. The Python package verity_asr uses it.`

// Decode returns the command that writes the samples of a file.
func Decode(e cli.Env) *cobra.Command {
	var sound cli.SoundFlags
	var file string
	c := cli.New("decode FILE", "Write the samples of a sound file", decodeHelp, func(ctx context.Context, _ []string) error {
		clip, err := sound.Clip(ctx, e, file)
		if err != nil {
			return err
		}
		defer clip.Close()
		return writeSamples(e, clip)
	})
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.Usagef("got %d arguments, want a sound file", len(args))
		}
		file = args[0]
		return nil
	}
	c.Hidden = true
	cli.AddFlags(c, sound.Register)
	return c
}

// writeSamples writes the samples of a clip, and then its warnings to standard error.
func writeSamples(e cli.Env, clip *audio.Clip) (err error) {
	out := bufio.NewWriter(e.Out)
	for pcm := make([]float32, audio.SampleRate); err == nil; {
		var n int
		n, err = clip.Read(pcm)
		binary.Write(out, binary.LittleEndian, pcm[:n]) // Flush returns its error
	}
	if err != io.EOF {
		return err
	}
	for _, w := range clip.Warnings() {
		fmt.Fprintln(e.Err, w)
	}
	return cannotWrite(out.Flush())
}
