package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/diarize"
	"verity/internal/input"
	"verity/internal/show"
	"verity/parallel"
	"verity/transcribe"
)

var (
	speakersRow = &Option{Name: "speakers", Kind: List, Arg: "who", Default: "one", Choices: []string{"one", "voice", "channels"},
		Check: checks(parseSpeakers), Needs: "word-timestamps", Implied: "voice", Common: true,
		Help: "label who speaks: voice tells speakers apart by their voices and finds out how many there are; 3 or 2-4 " +
			"says how many; channels transcribes each channel separately, as for a two-channel call recording, where " +
			"silent channels cost nothing; one labels nobody"}
	speakerNamesRow = &Option{Name: "speaker-names", Kind: Text, Arg: "file", Max: maxPath, Needs: "speakers", Common: true,
		Help: "names of known voices, for --speakers voice; each line is NAME: FILE, a file with a few seconds of that " +
			"voice, relative to this list, or NAME: FILE 1:30-1:45, a part of one. Others stay Speaker 1, 2, …"}
)

// SpeakerFlags are the flags that identify speakers.
type SpeakerFlags struct {
	Channels bool             // every channel is a speaker
	Voices   *diarize.Options // how voices are identified; nil if they are not

	allowsChannels bool   // each channel can be a speaker
	names          string // file of the names of known voices
}

// Register adds the flags. channels says that each channel can be a speaker, named that there is a flag for the
// names of voices.
func (s *SpeakerFlags) Register(f *pflag.FlagSet, channels, named bool) {
	AddOption(f, "speakers", func(v Value) error {
		o, err := parseSpeakers(v.Text)
		s.Channels, s.Voices = o.Channels, o.Voices
		return err
	})
	if s.allowsChannels = channels; !channels {
		Redefine(f, "speakers", "one", "label `who` speaks: voice tells speakers apart by their voices and finds out how "+
			"many there are; 3 or 2-4 says how many; one labels nobody")
	}
	if named {
		Bind(f, "speaker-names", &s.names)
	}
}

// None reports whether speakers are not identified at all.
func (s *SpeakerFlags) None() bool { return !s.Channels && s.Voices == nil }

// Check refuses flags that do not go together.
func (s *SpeakerFlags) Check() error {
	switch {
	case s.names != "" && s.Voices == nil:
		return Usagef("--speaker-names needs --speakers voice")
	case s.Channels && !s.allowsChannels:
		return Usagef("--speakers channels is for files to transcribe; want voice, or how many speakers there are")
	}
	return nil
}

// Options returns the options for identifying voices; nil if the flags do not ask for that. sound opens the samples of
// known voices.
func (s *SpeakerFlags) Options(ctx context.Context, e Env, sound *SoundFlags) (o *diarize.Options, err error) {
	if s.Voices == nil {
		return nil, nil
	}
	if s.names != "" {
		s.Voices.Known, err = sound.knownVoices(ctx, e, s.names)
	}
	return s.Voices, err
}

const (
	longestVoices = 1 << 20 // bytes of a file of names
	longestSample = 120     // s
)

// knownVoices reads the file of --speaker-names: on each line a name, a colon and a sound file with the voice, relative
// to the directory of the list. Empty lines and those that begin with # are skipped.
func (s *SoundFlags) knownVoices(ctx context.Context, e Env, list string) (voices []diarize.Voice, err error) {
	text, err := input.Read(ctx, list, longestVoices)
	if err != nil {
		return nil, Usagef("--speaker-names %s: %w; want a file with lines NAME: FILE, each FILE a few seconds of that voice",
			show.Name(list), input.Cause(err))
	}
	pool := parallel.New(0)
	defer pool.Close()
	for number, line := range input.Lines(text) {
		v, err := s.knownVoice(ctx, e, filepath.Dir(list), line, voices, pool)
		if err != nil {
			return nil, Usagef("--speaker-names %s: line %d: %w", show.Name(list), number, err)
		}
		voices = append(voices, v)
	}
	if len(voices) == 0 {
		return nil, Usagef("--speaker-names %s: it names nobody; want lines of NAME: FILE", show.Name(list))
	}
	return voices, nil
}

// parseVoice reads a line NAME: FILE, whose name none of the voices before has.
func parseVoice(line string, before []diarize.Voice) (name, file string, err error) {
	name, file, ok := strings.Cut(line, ": ")
	if !ok {
		name, file, _ = strings.Cut(line, ":")
	}
	name, file = strings.TrimSpace(name), strings.TrimSpace(file)
	switch {
	case name == "" || file == "":
		err = fmt.Errorf("got %s, want NAME: FILE, a file with a few seconds of the voice", show.Value(line))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		err = fmt.Errorf("got the name %q, want UTF-8 without control characters", name)
	case slices.ContainsFunc(before, func(v diarize.Voice) bool { return v.Name == name }):
		err = fmt.Errorf("the name %s is used twice; join its samples in one file", show.Name(name))
	case len(before) == diarize.MaxSpeakers:
		err = fmt.Errorf("more than %d names", diarize.MaxSpeakers)
	}
	return name, file, err
}

// knownVoice returns the voice that a line of a list in a directory names. It differs from those before.
func (s *SoundFlags) knownVoice(
	ctx context.Context, e Env, dir, line string, before []diarize.Voice, pool *parallel.Pool,
) (v diarize.Voice, err error) {
	name, file, err := parseVoice(line, before)
	if err != nil {
		return v, err
	}
	if !filepath.IsAbs(file) {
		file = dir + string(filepath.Separator) + file // Join would make "-" of "./-": standard input
	}
	var part transcribe.Span
	if m := partOfFile.FindStringSubmatch(file); m != nil {
		spans, err := Spans(m[2] + "," + m[3])
		if err != nil {
			return v, fmt.Errorf("%s: %w", show.Name(file), err)
		}
		file, part = m[1], spans[0]
	}
	v, err = s.sample(ctx, e, name, file, part, pool)
	if problem, ok := errors.AsType[*diarize.SampleError](err); ok {
		return v, fmt.Errorf("%s: %s", show.Name(file), problem.Problem)
	}
	same := func(w diarize.Voice) bool { return slices.Equal(v.Vector, w.Vector) }
	if i := slices.IndexFunc(before, same); err == nil && i >= 0 {
		err = fmt.Errorf("%s: this is the sample of %s; want another sound for each name", show.Name(file), show.Name(before[i].Name))
	}
	return v, err
}

// partOfFile matches a file and when a part of it begins and ends.
var partOfFile = regexp.MustCompile(`^(.*\S)\s+([\d:.]+)-([\d:.]+)$`)

// sample returns the voice of a sound file, or of a part of it.
func (s *SoundFlags) sample(
	ctx context.Context, e Env, name, file string, part transcribe.Span, pool *parallel.Pool,
) (v diarize.Voice, err error) {
	sound := SoundFlags{}
	sound.FFmpeg, sound.Strict, sound.MaxDuration = s.FFmpeg, s.Strict, longestSample*time.Second
	tooLong := &diarize.SampleError{Name: name, Problem: fmt.Sprintf("it is longer than %d s", longestSample)}
	if part.End > 0 {
		if part.End-part.Start > longestSample {
			return v, tooLong
		}
		sound.MaxDuration = 0
	}
	clip, err := sound.Clip(ctx, e, file)
	if err == nil {
		defer clip.Close()
		if part.End > 0 {
			from := int(part.Start * audio.SampleRate)
			clip, err = clip.Cut(name, from, int(part.End*audio.SampleRate)-from)
		}
	}
	if err == nil {
		v, err = diarize.NewVoice(ctx, name, clip, pool)
	}
	if errors.Is(err, audio.ErrTooLong) {
		err = tooLong
	}
	return v, err
}

// parseSpeakers parses the value of speakers. Voices is nil unless speakers are identified by voice.
func parseSpeakers(text string) (s SpeakerFlags, err error) {
	switch text {
	case "one":
	case "channels":
		s.Channels = true
	default:
		voices, wrong := diarize.Parse(text)
		if s.Voices, err = &voices, wrong; wrong != nil {
			err = fmt.Errorf("want one, channels, voice, or how many speakers there are, as 3 or 2-4, up to %d", diarize.MaxSpeakers)
		}
	}
	return s, err
}
