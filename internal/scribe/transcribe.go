package scribe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/command"
	"verity/internal/kernel"
	"verity/internal/options"
	"verity/internal/setup"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

// completeFormats offers one more format behind those given so far, separated by
// commas.
func completeFormats(c *cobra.Command) {
	command.Must(c.RegisterFlagCompletionFunc("output-format", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var values []string
		for _, f := range transcript.Formats() {
			if !slices.Contains(strings.Split(before, ","), string(f)) {
				values = append(values, before+string(f))
			}
		}
		if before == "" {
			values = append(values, "all")
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}))
}

const transcribeHelp = `Transcribe writes the text of sound files to standard output, a line per segment,
as soon as it is known, in the order given. WAV, FLAC, MP3, Ogg Opus, Ogg Vorbis,
WebM, AIFF, CAF and AU files of any rate, width and number of channels are
read; "-" is standard input, "raw:RATE" samples on it that have no header (16 bits,
little-endian, one channel). Sound that comes in as it is spoken is transcribed as it
comes. A directory stands for the sound files in it, and an address (http, https) for
the file that it leads to.

--output-dir writes files instead: NAME.txt for NAME.wav, and likewise for the other
formats. A file that exists is replaced only with --force;
--skip-existing leaves it, so that an interrupted run can be resumed.

With several files, texts are printed one after another without a separator; each
file's name goes to standard error first. JSON of several files is one object a line.

A file that cannot be transcribed does not stop the others. On an interrupt, what
was finished stays written.

"none" turns a threshold off; --NAME=false turns a switch off.

  verity transcribe talk.wav
  verity transcribe --model ~/whisper-small --language de talk.flac
  verity transcribe --output-format srt,json --output-dir subs *.wav
  ffmpeg -i talk.mp4 -f wav - | verity transcribe -
  verity transcribe --highlight --stats talk.wav`

// A transcribeCommand is the transcribe command with its flags.
type transcribeCommand struct {
	command.Env
	name      string // of the command
	model     setup.ModelFlags
	sound     setup.SoundFlags
	decoding  setup.DecodingFlags
	log       command.LogFlags
	formats   []transcript.Format
	dir       string
	batch     int
	stats     bool
	highlight string
	timed     bool
	printed   bool // segments are printed as they come
	force     bool
	skip      bool
	deep      bool
	speakers  string
	made      *pflag.FlagSet // flags that decide on the text or the subtitles
	by        *transcript.Maker
	subtitles transcript.Subtitles

	mark       marker
	transcribe *transcribe.Transcriber
	drafts     *setup.DraftSource
}

func Transcribe(e command.Env) *cobra.Command {
	t := &transcribeCommand{Env: e, name: "transcribe"}
	c := command.New("transcribe [flags] FILE...", "Write the text of sound files", transcribeHelp+command.ExitHelp, t.run)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Usagef("no sound files are named; - is standard input")
		}
		return nil
	}
	t.register(c, func(f *pflag.FlagSet) {
		command.Bind(f, "force", &t.force)
		command.Bind(f, "skip-existing", &t.skip)
		command.Bind(f, "timestamps", &t.timed)
		command.Bind(f, "highlight", &t.highlight)
	})
	command.CompleteSound(c)
	return c
}

// register adds flags to a command, and those that transcribe and watch share.
func (t *transcribeCommand) register(c *cobra.Command, own func(*pflag.FlagSet)) {
	command.AddFlags(c, t.model.Register, t.registerFiles, own, t.log.Register)
	t.made = command.AddFlags(c, t.decoding.Register(0), t.sound.Register, t.registerSubtitles)
	t.made.AddFlag(c.Flags().Lookup("sampler")) // the one flag of drafting that may change the text
	completeFormats(c)
}

// registerFiles adds the flags of what can be written to files.
func (t *transcribeCommand) registerFiles(f *pflag.FlagSet) {
	bindFormats(f, &t.formats)
	command.Bind(f, "output-dir", &t.dir)
	command.Bind(f, "stats", &t.stats)
	command.Bind(f, "progress", &t.log.Progress)
	command.Bind(f, "batch", &t.batch)
	command.Bind(f, "recursive", &t.deep)
	command.Bind(f, "speakers", &t.speakers)
}

// bindFormats adds the flag for what is written.
func bindFormats(f *pflag.FlagSet, to *[]transcript.Format) {
	command.AddOption(f, "output-format", func(v options.Value) (err error) {
		if *to = nil; v.Text != "" {
			*to, err = options.Formats(v.Text)
		}
		return err
	})
}

func (t *transcribeCommand) registerSubtitles(f *pflag.FlagSet) {
	command.Bind(f, "subtitles", &t.subtitles.Composed)
	command.Bind(f, "max-line-width", &t.subtitles.MaxLineWidth)
	command.Bind(f, "max-line-count", &t.subtitles.MaxLineCount)
	command.Bind(f, "max-words-per-line", &t.subtitles.MaxWordsPerLine)
	command.Bind(f, "highlight-words", &t.subtitles.HighlightWords)
}

func (t *transcribeCommand) run(ctx context.Context, files []string) error {
	opt := t.decoding.Options(t.log.Logger(t.Env))
	if err := t.sound.Check(); err != nil {
		return err
	}
	files, err := inputs(files, t.deep)
	if err != nil {
		return err
	}
	out, err := t.sink(files)
	if err != nil {
		return err
	}
	if opt.MarkAccepted, err = t.marks(out); err != nil {
		return err
	}
	files, err = t.missing(out, files)
	if err != nil || len(files) == 0 {
		return err
	}
	if t.drafts, err = setup.OpenDrafts(ctx, t.model.Assistant.From, len(files)); err == nil {
		err = t.drafts.Check(ctx, files)
	}
	if err != nil {
		return err
	}
	model, err := t.load(ctx, opt)
	if err != nil {
		return err
	}
	defer model.Close()
	total := new(statsSink)
	if t.stats {
		total = t.tally(out, model, len(files))
		out = total
	}
	if t.ErrTerminal && !t.log.Quiet {
		out = &languageNote{out, t.Err}
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

// load loads the model.
func (t *transcribeCommand) load(ctx context.Context, opt transcribe.Options) (*setup.Model, error) {
	done := t.Loading(&t.log, t.model.Name)
	model, err := t.model.Load(ctx)
	done()
	if err != nil {
		return nil, err
	}
	t.by = setup.Maker(model, &t.model, t.made)
	if t.transcribe, err = transcribe.New(model.Model, opt); err != nil {
		model.Close()
		return nil, setup.InFlag(err)
	}
	t.mark = newMarker(model.Tokenizer)
	return model, nil
}

// missing returns the files whose outputs are to be written.
func (t *transcribeCommand) missing(out sink, files []string) ([]string, error) {
	dir, ok := out.(*folder)
	if !ok {
		return files, nil
	}
	todo, err := dir.missing(files)
	if n := len(files) - len(todo); err == nil && n > 0 && !t.log.Quiet {
		fmt.Fprintf(t.Err, "%s of %d: the outputs are there\n", show.Some(n, "file")+" skipped", len(files))
	}
	return todo, err
}

// tally puts the statistics of n files in front of out.
func (t *transcribeCommand) tally(out sink, model *setup.Model, n int) *statsSink {
	total := &statsSink{sink: out, w: t.Err, bandwidth: kernel.ReadBandwidth(model.Pool(), bandwidthTime)}
	if n > 1 && t.dir == "" && out == (document{t.Out, transcript.JSON, t.subtitles}) {
		total.json = t.Out
	}
	total.began = time.Now()
	return total
}

// all transcribes one file after the other. Failures are reported at once; the error
// returned is a summary.
func (t *transcribeCommand) all(ctx context.Context, files []string, out sink) error {
	t.sound.Live = t.printed && !t.transcribe.Whole()
	failed := 0
	for i, name := range files {
		label := filepath.Base(name)
		if len(files) > 1 {
			label = fmt.Sprintf("%d/%d %s", i+1, len(files), label)
			if t.headed() {
				fmt.Fprintf(t.Err, "%s:\n", show.Name(name))
			}
		}
		err := t.file(ctx, name, out, t.NewProgress(&t.log, label, 1), 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		if len(files) == 1 || errors.Is(err, errOutput) {
			return err
		}
		t.Complain(files, fmt.Sprintf("verity %s: %v", t.name, err))
		failed++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(files))
	}
	return nil
}

// headed reports whether the name of each of several files stands above its text.
func (t *transcribeCommand) headed() bool { return !t.log.Quiet && t.dir == "" }

// file transcribes file i of those whose progress bar shows.
func (t *transcribeCommand) file(ctx context.Context, name string, out sink, bar *command.Progress, i int) error {
	if t.speakers == "channels" {
		return t.channels(ctx, name, out, bar)
	}
	clip, err := t.sound.Clip(ctx, t.Env, name)
	if err != nil {
		return err
	}
	defer clip.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	defer bar.Clear()
	w := transcribe.Watch{Within: func(done, total float64) { bar.Within(i, done, total) }, Segment: func(s transcript.Segment) {
		if err := out.segment(bar, s); err != nil {
			cancel(err)
		}
	}}
	if clip.Once() {
		w.Within = nil // how much is to come is not known
	}
	tr, err := t.hear(ctx, name, clip, w)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errOutput) {
		return cause
	}
	if err != nil {
		return err
	}
	bar.Clear()
	return out.finish(ctx, name, tr)
}

// hear transcribes the clip of a file, drafting from what is written of it.
func (t *transcribeCommand) hear(ctx context.Context, name string, clip *audio.Clip, w transcribe.Watch) (*transcript.Transcript, error) {
	written, err := t.drafts.Lines(ctx, name, "", "")
	if err != nil {
		return nil, err
	}
	tr, err := t.transcribe.Drafting(written).Transcribe(ctx, clip, w)
	if err != nil {
		return nil, inFile(name, err)
	}
	tr.By = t.by
	return tr, nil
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

// outputs returns the formats to write.
func (t *transcribeCommand) outputs() []transcript.Format {
	switch {
	case len(t.formats) > 0:
		return t.formats
	case t.subtitles.Composed:
		return []transcript.Format{transcript.SRT}
	}
	return []transcript.Format{transcript.TXT}
}

// sink returns where transcripts go, or an error about the flags.
func (t *transcribeCommand) sink(files []string) (sink, error) {
	formats := t.outputs()
	if s := t.subtitles; s.MaxLineCount > 0 && s.MaxLineWidth == 0 && !s.Composed {
		return nil, command.Usagef("--max-line-count needs --max-line-width or --subtitles")
	}
	piped := 0 // inputs
	for _, name := range files {
		if _, ok := setup.Stdin(name); ok {
			piped++
		}
		if t.model.Offline && setup.IsAddress(name) {
			return nil, command.Usagef("%s: --offline downloads nothing", show.Name(name))
		}
	}
	if piped > 1 {
		return nil, command.Usagef("standard input can be read only once")
	}
	if t.speakers == "channels" && (t.batch > 1 || piped > 0) {
		return nil, command.Usagef("--speakers channels reads each file once for every channel: neither standard input nor --batch")
	}
	if ext := transcript.Format(strings.TrimPrefix(filepath.Ext(t.dir), ".")); slices.Contains(transcript.Formats(), ext) && !exists(t.dir) {
		return nil, command.Usagef("--output-dir %s: want a directory; one file is --output-format %s FILE > %[1]s", show.Name(t.dir), ext)
	}
	if t.dir != "" {
		f, err := newFolder(t.dir, formats, t.subtitles, files)
		f.force, f.skip = t.force, t.skip
		if !t.log.Quiet && (t.ErrTerminal || len(files) > 1) {
			f.told = t.Err
		}
		return f, err
	}
	if len(formats) > 1 {
		return nil, command.Usagef("--output-format: several formats need --output-dir")
	}
	f := formats[0]
	if t.timed && f != transcript.TXT {
		return nil, command.Usagef("--timestamps writes text on standard output; %s has times of its own", f)
	}
	if len(files) > 1 && f != transcript.TXT && f != transcript.JSON {
		return nil, command.Usagef("%s of several files needs --output-dir", f)
	}
	if t.printed = f == transcript.TXT; t.printed {
		return lines{t.Out, t.line}, nil
	}
	return document{t.Out, f, t.subtitles}, nil
}
