package setup

import (
	"context"
	"errors"
	"os/exec"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/command"
)

// SoundFlags say how sound files are opened.
type SoundFlags struct {
	audio.Input
}

func (s *SoundFlags) Register(f *pflag.FlagSet) {
	command.Bind(f, "channel", &s.Channel)
	command.Bind(f, "ffmpeg", &s.FFmpeg)
	command.Bind(f, "strict", &s.Strict)
}

func (s *SoundFlags) Check() error {
	switch s.FFmpeg {
	case audio.FFmpegAuto, audio.FFmpegNever, "":
		return nil
	}
	_, err := exec.LookPath(s.FFmpeg)
	if e := new(exec.Error); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return command.Usagef("--ffmpeg %s: %w; want auto, never or the path of the program", s.FFmpeg, command.PathCause(err))
	}
	return nil
}

// Clip opens a sound file; "-" is standard input, and an address is downloaded. A pipe may never send anything, so the
// goroutine that reads it is abandoned when ctx ends.
func (s *SoundFlags) Clip(ctx context.Context, e command.Env, name string) (*audio.Clip, error) {
	var clip *audio.Clip
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		switch {
		case name == "-":
			clip, err = s.OpenReader(ctx, "standard input", e.In)
		case IsAddress(name):
			clip, err = s.download(ctx, name)
		default:
			clip, err = s.Open(ctx, name)
		}
	}()
	select {
	case <-done:
		return clip, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
