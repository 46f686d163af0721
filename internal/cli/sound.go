package cli

import (
	"context"
	"errors"
	"os/exec"

	"github.com/spf13/pflag"

	"verity/audio"
)

// soundFlags say how sound files are opened.
type soundFlags struct {
	audio.Input
}

func (s *soundFlags) register(f *pflag.FlagSet) {
	bind(f, "channel", &s.Channel)
	bind(f, "ffmpeg", &s.FFmpeg)
	bind(f, "strict", &s.Strict)
}

func (s *soundFlags) check() error {
	switch s.FFmpeg {
	case audio.FFmpegAuto, audio.FFmpegNever, "":
		return nil
	}
	_, err := exec.LookPath(s.FFmpeg)
	if e := new(exec.Error); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return usagef("--ffmpeg %s: %w; want auto, never or the path of the program", s.FFmpeg, pathCause(err))
	}
	return nil
}

// open opens a sound file; "-" is standard input. A pipe may never send anything, so the
// goroutine that reads it is abandoned when ctx ends.
func (s *soundFlags) open(ctx context.Context, e env, name string) (*audio.Clip, error) {
	type opened struct {
		clip *audio.Clip
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		if name == "-" {
			o.clip, o.err = s.OpenReader(ctx, "standard input", e.in)
		} else {
			o.clip, o.err = s.Open(ctx, name)
		}
		done <- o
	}()
	select {
	case o := <-done:
		return o.clip, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
