package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"verity/cmd/internal/cli"
	"verity/diarize"
	"verity/internal/input"
	"verity/internal/show"
	"verity/parallel"
)

const (
	longestVoices = 1 << 20 // bytes of a file of names
	longestSample = 120.0   // s
)

// KnownVoices reads the file of --speaker-names: on each line a name, a colon and a sound file with the voice, relative
// to the directory of the list. Empty lines and those that begin with # are skipped.
func (s *SoundFlags) KnownVoices(ctx context.Context, e cli.Env, list string) (voices []diarize.Voice, err error) {
	text, err := input.Read(ctx, list, longestVoices)
	if err != nil {
		return nil, cli.Usagef("--speaker-names %s: %w", show.Name(list), input.Cause(err))
	}
	pool := parallel.New(0)
	defer pool.Close()
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		wrong := func(problem string, args ...any) error {
			return cli.Usagef("--speaker-names %s: line %d: %s", show.Name(list), number, fmt.Sprintf(problem, args...))
		}
		name, file, _ := strings.Cut(line, ":")
		name, file = strings.TrimSpace(name), strings.TrimSpace(file)
		switch {
		case name == "" || file == "":
			return nil, wrong("got %s, want NAME: FILE, a file with a few seconds of the voice", show.Name(line))
		case slices.ContainsFunc(voices, func(v diarize.Voice) bool { return v.Name == name }):
			return nil, wrong("the name %s is used twice", show.Name(name))
		case len(voices) == diarize.MaxSpeakers:
			return nil, wrong("more than %d names", diarize.MaxSpeakers)
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(list), file)
		}
		v, err := s.sample(ctx, e, name, file, pool)
		if problem := (*diarize.SampleError)(nil); errors.As(err, &problem) {
			return nil, wrong("%s: %s", show.Name(file), problem.Problem)
		} else if err != nil {
			return nil, fmt.Errorf("--speaker-names %s: line %d: %w", show.Name(list), number, err)
		}
		voices = append(voices, v)
	}
	if len(voices) == 0 {
		return nil, cli.Usagef("--speaker-names %s: it names nobody; want lines of NAME: FILE", show.Name(list))
	}
	return voices, nil
}

// sample returns the voice of a sound file.
func (s *SoundFlags) sample(
	ctx context.Context, e cli.Env, name, file string, pool *parallel.Pool,
) (v diarize.Voice, err error) {
	sound := SoundFlags{}
	sound.FFmpeg, sound.Strict = s.FFmpeg, s.Strict
	clip, err := sound.Clip(ctx, e, file)
	if err != nil {
		return v, err
	}
	defer clip.Close()
	if length := clip.HeaderDuration(); length > longestSample {
		return v, &diarize.SampleError{Name: name, Problem: fmt.Sprintf("got %.0f s, want at most %.0f s", length, longestSample)}
	}
	return diarize.NewVoice(ctx, name, clip, pool)
}
