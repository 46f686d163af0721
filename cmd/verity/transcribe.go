package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/kernel"
	"verity/transcribe"
	"verity/transcript"
)

const transcribeHelp = `Transcribe writes the text of sound files to standard output, a line per segment,
as soon as it is known, in the order given. WAV and FLAC files of any rate, width
and number of channels are read; "-" is standard input.

With --output-dir the text goes to files there instead, NAME.txt for NAME.wav, and
so for the other formats. Several files as JSON on standard output are one object
a line. On standard output the text of several files follows without a mark; each
name is said on standard error first.

A file that cannot be transcribed does not stop the others. On an interrupt, what
was finished stays written.

What drafting costs on this machine is kept for the next run, in the user's cache
directory, in $VERITY_CACHE, or nowhere if that is off. The text does not depend on
it.

A threshold is turned off by "none", a switch that is on by --NAME=false.

  verity transcribe talk.wav
  verity transcribe --model ~/whisper-small --language de talk.flac
  verity transcribe --output-format srt,json --output-dir subs *.wav
  ffmpeg -i talk.mp4 -f wav - | verity transcribe -
  verity transcribe --highlight --stats talk.wav`

// A transcription is the transcribe command with its flags.
type transcription struct {
	env
	model      modelFlags
	sound      soundFlags
	opt        transcribe.Options
	task       string
	pad        string
	condition  bool
	first      float64 // temperature
	increment  number
	ratio      number
	logProb    number
	noSpeech   number
	latest     number // first timestamp
	suppress   tokenList
	clips      spanList
	formats    formatList
	json       bool
	dir        string
	batch      int
	quiet      bool
	level      string
	stats      bool
	highlight  string
	mark       marker
	transcribe *transcribe.Transcriber
}

func transcribeCommand(e env) *cobra.Command {
	t := &transcription{
		env: e, formats: formatList{transcript.TXT},
		increment: number{value: 0.2}, ratio: number{value: 2.4}, logProb: number{value: -1},
		noSpeech: number{value: 0.6}, latest: number{value: 1},
	}
	c := &cobra.Command{
		Use:   "transcribe [flags] FILE...",
		Short: "Write the text of sound files",
		Long:  transcribeHelp + exitHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no sound files are named")
			}
			return nil
		},
		RunE: func(c *cobra.Command, files []string) error { return t.run(c.Context(), files) },
	}
	f := c.Flags()
	f.SortFlags = false
	t.model.register(f)
	f.IntVar(&t.batch, "batch", 1, "`number` of files to transcribe at the same time: they share every pass over\nthe weights. The text does not depend on it")
	t.sound.register(f)
	t.registerOutput(f)
	t.registerDecoding(f)
	t.model.complete(c)
	must(c.MarkFlagDirname("output-dir"))
	for name, values := range map[string][]string{
		"task": {"transcribe", "translate"}, "pad": {"audio", "mel"}, "log-level": {"debug", "info", "warn", "error"},
		"output-format": {"txt", "srt", "vtt", "tsv", "json", "all"}, "highlight": {"auto", "always", "never"},
	} {
		must(c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return c
}

func (t *transcription) registerOutput(f *pflag.FlagSet) {
	f.VarP(&t.formats, "output-format", "f", "txt, srt, vtt, tsv, json, several of them between commas, or all")
	f.BoolVar(&t.json, "json", false, "the same as --output-format json")
	f.StringVarP(&t.dir, "output-dir", "o", "", "`directory` to write files to instead of standard output")
	f.BoolVar(&t.stats, "stats", false, "say on standard error what the work of each file was: tokens, drafts, times,\nmemory read beside what this machine can read. With JSON of several files on\nstandard output that of all follows as an object of its own")
	f.StringVar(&t.highlight, "highlight", "never", "mark text that the assistant drafted: auto, which is what the flag alone\nmeans, on a terminal; always; never. NO_COLOR underlines it")
	f.Lookup("highlight").NoOptDefVal = "auto"
	f.BoolVarP(&t.quiet, "quiet", "q", false, "say nothing on standard error but errors")
	f.StringVar(&t.level, "log-level", "warn", "`level` of what is logged: debug, info, warn or error.\ndebug tells every decision")
}

func (t *transcription) registerDecoding(f *pflag.FlagSet) {
	f.StringVarP(&t.opt.Language, "language", "l", "", "`language` spoken, as en or English; detected if not given")
	f.StringVar(&t.task, "task", "transcribe", "transcribe, or translate to English")
	f.BoolVar(&t.opt.WithoutTimestamps, "without-timestamps", false, "decode text alone, a segment for each window")
	f.StringVar(&t.opt.InitialPrompt, "initial-prompt", "", "`text` that the first window is to continue: names, spelling, style")
	f.BoolVar(&t.opt.CarryInitialPrompt, "carry-initial-prompt", false, "put the initial prompt before every window")
	f.BoolVar(&t.condition, "condition-on-previous-text", true, "show each window the text before it")
	f.Var(&t.clips, "clip-timestamps", "parts to read, start,end,start,end,… in seconds; the last end\nmay be missing")
	f.Float64Var(&t.first, "temperature", 0, "`temperature` to decode at first")
	f.Var(&t.increment, "temperature-increment-on-fallback", "added while a window fails the thresholds, up to 1; or none")
	f.Var(&t.ratio, "compression-ratio-threshold", "a window whose text zlib shrinks more has failed; or none")
	f.Var(&t.logProb, "logprob-threshold", "a window of a lower mean log-probability has failed; or none")
	f.Var(&t.noSpeech, "no-speech-threshold", "a window likelier than this to be without speech is passed\nover, unless its text is likely; or none")
	f.Var(&t.latest, "max-initial-timestamp", "latest start of the first segment of a window in seconds; or none")
	f.Var(&t.suppress, "suppress-tokens", "token ids never to choose, between commas: -1 for marks that are\nnot speech, auto for the model's own list, empty for none")
	f.Float32Var(&t.opt.Repetition.Penalty, "repetition-penalty", 0, "`factor` that makes tokens less likely that came before, prompt\nincluded; 0 or 1 for none")
	f.IntVar(&t.opt.Repetition.NoRepeat, "no-repeat-ngram-size", 0, "`length` of runs of tokens that may not come twice in a window,\nprompt included; 0 for any")
	f.IntVar(&t.opt.Repetition.MinTokens, "min-new-tokens", 0, "`number` of tokens, timestamps included, before a window's text\nmay end")
	f.IntVar(&t.opt.TopK, "top-k", 0, "at temperatures above 0, choose among this `number` of tokens; 0 for all")
	f.Float64Var(&t.opt.TopP, "top-p", 0, "at temperatures above 0, choose among the likeliest tokens that together\nhave this `share` of the probability; 0 for all")
	f.StringVar(&t.pad, "pad", "audio", "what follows the end of the audio in a window: audio for silence,\nas models are trained; mel for zeros, as openai/whisper has it")
	f.Uint64Var(&t.opt.Seed, "seed", 0, "`number` that sampling at temperatures above 0 starts from")
}

// options puts the flags into t.opt.
func (t *transcription) options() (err error) {
	if t.opt.Log, err = t.logger(); err != nil {
		return err
	}
	switch t.pad {
	case "audio":
		t.opt.Pad = audio.PadAudio
	case "mel":
		t.opt.Pad = audio.PadMel
	default:
		return usagef("--pad %q: want audio or mel", t.pad)
	}
	if err := t.sound.check(); err != nil {
		return err
	}
	if t.batch < 1 || t.batch > maxBatch {
		return usagef("--batch %d: must be from 1 to %d; each file needs memory of its own", t.batch, maxBatch)
	}
	t.opt.Task = transcribe.Task(t.task)
	t.opt.ForgetPrevious = !t.condition
	t.opt.Spans = t.clips
	t.opt.MaxCompressionRatio = t.ratio.or(math.Inf(1))
	t.opt.MinLogProb = t.logProb.or(math.Inf(-1))
	t.opt.MaxNoSpeech = t.noSpeech.or(math.Inf(1))
	t.opt.MaxInitialTimestamp = t.latest.or(math.Inf(1))
	if t.suppress.set {
		t.opt.SuppressTokens = t.suppress.tokens
	}
	t.opt.Temperatures, err = temperatures(t.first, t.increment)
	return err
}

func (t *transcription) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(t.level)); err != nil {
		return nil, usagef("--log-level %q: want debug, info, warn or error", t.level)
	}
	if t.quiet {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(logger)
	// Libraries use package log, which SetDefault leads here: mewkiz/flac says something
	// about every frame of a file at 24 kHz.
	log.SetOutput(io.Discard)
	return logger, nil
}

func (t *transcription) run(ctx context.Context, files []string) error {
	if err := t.options(); err != nil {
		return err
	}
	out, err := t.output(files)
	if err != nil {
		return err
	}
	if t.opt.MarkAccepted, err = t.marks(out); err != nil {
		return err
	}
	model, err := t.model.load(ctx)
	if err != nil {
		return err
	}
	defer model.close()
	if t.transcribe, err = transcribe.New(model.Model, t.opt); err != nil {
		return inFlag(err)
	}
	if t.model.name == demoName && !t.quiet {
		fmt.Fprintln(t.err, demoNote)
	}
	t.mark = newMarker(model.Tokenizer)
	total := new(tallied)
	if t.stats {
		total = &tallied{output: out, w: t.err, bandwidth: kernel.ReadBandwidth(model.Pool(), bandwidthTime)}
		if len(files) > 1 && t.dir == "" && out == (document{t.out, transcript.JSON}) {
			total.json = t.out
		}
		total.began = time.Now()
		out = total
	}
	read := t.all
	if t.batch > 1 && len(files) > 1 {
		read = t.together
	}
	err = read(ctx, files, out)
	if problem := total.sum(); err == nil {
		err = problem
	}
	return err
}

// flagOf is the flag that sets a field of transcribe.Options.
var flagOf = map[string]string{
	"Language": "language", "Task": "task", "WithoutTimestamps": "without-timestamps", "Temperatures": "temperature",
	"MaxCompressionRatio": "compression-ratio-threshold", "MinLogProb": "logprob-threshold", "MaxNoSpeech": "no-speech-threshold",
	"InitialPrompt": "initial-prompt", "CarryInitialPrompt": "carry-initial-prompt", "SuppressTokens": "suppress-tokens",
	"MaxInitialTimestamp": "max-initial-timestamp", "Spans": "clip-timestamps", "Pad": "pad",
	"Repetition.Penalty": "repetition-penalty", "Repetition.NoRepeat": "no-repeat-ngram-size", "Repetition.MinTokens": "min-new-tokens",
	"TopK": "top-k", "TopP": "top-p",
}

// inFlag makes an option that cannot be used a mistake in its flag.
func inFlag(err error) error {
	var option *transcribe.OptionError
	if errors.As(err, &option) {
		return usagef("--%s %v: %s", flagOf[option.Field], option.Value, option.Reason)
	}
	return err
}

const demoNote = "verity: the demo model knows spoken digits only; --model DIR names a Whisper checkpoint"

// all transcribes one file after the other. What went wrong is said at once; the
// error returned is a summary.
func (t *transcription) all(ctx context.Context, files []string, out output) error {
	failed := 0
	for _, name := range files {
		if len(files) > 1 && !t.quiet {
			fmt.Fprintf(t.err, "%s:\n", name)
		}
		err := t.file(ctx, name, out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		if len(files) == 1 || errors.Is(err, errOutput) {
			return err
		}
		fmt.Fprintf(t.err, "verity transcribe: %v\n", err)
		failed++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(files))
	}
	return nil
}

// file transcribes one file.
func (t *transcription) file(ctx context.Context, name string, out output) error {
	clip, err := t.sound.open(ctx, t.env, name)
	if err != nil {
		return err
	}
	defer clip.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	bar := t.newProgress(name)
	defer bar.clear()
	tr, err := t.transcribe.Transcribe(ctx, clip, transcribe.Watch{
		Progress: bar.set,
		Segment: func(s transcript.Segment) {
			if err := out.segment(bar, s); err != nil {
				cancel(err)
			}
		},
	})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errOutput) {
		return cause
	}
	if err != nil {
		return inFile(name, err)
	}
	bar.clear()
	return out.finish(name, tr)
}

// inFile names the file in err, unless err does so itself.
func inFile(name string, err error) error {
	var format *audio.FormatError
	var read *audio.ReadError
	if errors.As(err, &format) || errors.As(err, &read) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// output says where transcripts go, or what is wrong with the wish.
func (t *transcription) output(files []string) (output, error) {
	formats := t.formats
	if t.json {
		formats = formatList{transcript.JSON}
	}
	if slices.Index(files, "-") != lastIndex(files, "-") {
		return nil, usagef("standard input can be read only once")
	}
	if t.dir != "" {
		return newFolder(t.dir, formats, files)
	}
	if len(formats) > 1 {
		return nil, usagef("several formats (%s) need --output-dir", &formats)
	}
	f := formats[0]
	if len(files) > 1 && f != transcript.TXT && f != transcript.JSON {
		return nil, usagef("%s of several files needs --output-dir", f)
	}
	if f == transcript.TXT {
		return lines{t.out, t.line}, nil
	}
	return document{t.out, f}, nil
}

func lastIndex(files []string, name string) int {
	for i := len(files) - 1; i >= 0; i-- {
		if files[i] == name {
			return i
		}
	}
	return -1
}
