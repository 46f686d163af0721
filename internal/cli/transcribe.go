package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/options"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

const transcribeHelp = `Transcribe writes the text of sound files to standard output, a line per segment,
as soon as it is known, in the order given. WAV, FLAC, MP3, Ogg Opus, Ogg Vorbis,
WebM, AIFF, CAF and AU files of any rate, width and number of channels are
read; "-" is standard input.

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

// A transcribing is the transcribe command with its flags.
type transcribing struct {
	env
	model     modelFlags
	sound     soundFlags
	decoding  decodingFlags
	log       logFlags
	formats   []transcript.Format
	dir       string
	batch     int
	stats     bool
	highlight string
	timed     bool
	progress  string
	force     bool
	skip      bool
	made      *pflag.FlagSet // flags that decide on the text or the subtitles
	by        *transcript.Maker
	subtitles transcript.Subtitles

	mark       marker
	transcribe *transcribe.Transcriber
	drafts     *draftSource
}

func transcribeCommand(e env) *cobra.Command {
	t := &transcribing{env: e}
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
	addFlags(c, t.model.register, t.registerOutput, t.log.register)
	t.made = addFlags(c, t.decoding.register(0), t.sound.register, t.registerSubtitles)
	t.made.AddFlag(c.Flags().Lookup("sampler")) // the one flag of drafting that may change the text
	completeFormats(c)
	completeSound(c)
	return c
}

func (t *transcribing) registerOutput(f *pflag.FlagSet) {
	addOption(f, "output-format", func(v options.Value) (err error) {
		if t.formats = nil; v.Text != "" {
			t.formats, err = options.Formats(v.Text)
		}
		return err
	})
	bind(f, "output-dir", &t.dir)
	bind(f, "force", &t.force)
	bind(f, "skip-existing", &t.skip)
	bind(f, "timestamps", &t.timed)
	bind(f, "stats", &t.stats)
	bind(f, "highlight", &t.highlight)
	f.Lookup("highlight").NoOptDefVal = "auto"
	registerProgress(f, &t.progress)
	bind(f, "batch", &t.batch)
}

func (t *transcribing) registerSubtitles(f *pflag.FlagSet) {
	bind(f, "max-line-width", &t.subtitles.MaxLineWidth)
	bind(f, "max-line-count", &t.subtitles.MaxLineCount)
	bind(f, "max-words-per-line", &t.subtitles.MaxWordsPerLine)
	bind(f, "highlight-words", &t.subtitles.HighlightWords)
}

func (t *transcribing) run(ctx context.Context, files []string) error {
	logger, err := t.log.logger(t.err)
	if err != nil {
		return err
	}
	opt := t.decoding.options(logger)
	if err := t.sound.check(); err != nil {
		return err
	}
	if err := t.stray(files); err != nil {
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
	if t.drafts, err = openDrafts(ctx, t.model.assistant.from, len(files)); err == nil {
		err = t.drafts.check(files)
	}
	if err != nil {
		return err
	}
	done := t.loading(t.model.name)
	model, err := t.model.load(ctx)
	done()
	if err != nil {
		return err
	}
	defer model.close()
	t.by = maker(model, &t.model, t.made)
	if t.transcribe, err = transcribe.New(model.Model, opt); err != nil {
		return inFlag(err)
	}
	t.mark = newMarker(model.Tokenizer)
	total := new(tallied)
	if t.stats {
		total = t.tally(out, model, len(files))
		out = total
	}
	if t.errTerminal && !t.log.quiet {
		out = &detecting{out, t.err}
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

// missing returns the files whose outputs are to be written.
func (t *transcribing) missing(out sink, files []string) ([]string, error) {
	dir, ok := out.(*folder)
	if !ok {
		return files, nil
	}
	todo, err := dir.missing(files)
	if n := len(files) - len(todo); err == nil && n > 0 && !t.log.quiet {
		fmt.Fprintf(t.err, "%s of %d: the outputs are there\n", show.Some(n, "file")+" skipped", len(files))
	}
	return todo, err
}

// tally puts the statistics of n files in front of out.
func (t *transcribing) tally(out sink, model *loaded, n int) *tallied {
	total := &tallied{sink: out, w: t.err, bandwidth: kernel.ReadBandwidth(model.Pool(), bandwidthTime)}
	if n > 1 && t.dir == "" && out == (document{t.out, transcript.JSON, t.subtitles}) {
		total.json = t.out
	}
	total.began = time.Now()
	return total
}

// all transcribes one file after the other. Failures are reported at once; the error
// returned is a summary.
func (t *transcribing) all(ctx context.Context, files []string, out sink) error {
	failed := 0
	for i, name := range files {
		label := filepath.Base(name)
		if len(files) > 1 {
			label = fmt.Sprintf("%d/%d %s", i+1, len(files), label)
			if t.headed() {
				fmt.Fprintf(t.err, "%s:\n", show.Name(name))
			}
		}
		err := t.file(ctx, name, out, t.newProgress(label))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		if len(files) == 1 || errors.Is(err, errOutput) {
			return err
		}
		t.complain(files, fmt.Sprintf("verity transcribe: %v", err))
		failed++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(files))
	}
	return nil
}

// headed reports whether the name of each of several files stands above its text.
func (t *transcribing) headed() bool { return !t.log.quiet && t.dir == "" }

// file transcribes one file.
func (t *transcribing) file(ctx context.Context, name string, out sink, bar *progress) error {
	clip, err := t.sound.open(ctx, t.env, name)
	if err != nil {
		return err
	}
	defer clip.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	defer bar.clear()
	written, err := t.drafts.lines(ctx, name, "", "")
	if err != nil {
		return err
	}
	tr, err := t.transcribe.Drafting(written).Transcribe(ctx, clip, transcribe.Watch{
		Within: bar.seconds,
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
	tr.By = t.by
	return out.finish(ctx, name, tr)
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

// stray refuses a value that was taken for a file because its flag needs an equals sign.
func (t *transcribing) stray(files []string) error {
	for _, name := range files {
		if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, `./\`) {
			continue // a word with nothing of a path in it is hardly a sound file
		}
		if name == "True" || name == "False" {
			return usagef("%s: there is no such file; a switch takes no value after a space: write --NAME or --NAME=false", name)
		}
		for flag, alone := range map[string]bool{"highlight": t.highlight == "auto", "progress": t.progress == "always"} {
			if alone {
				return usagef("%s: there is no such file; a value of --%s follows an equals sign: --%[2]s=%[1]s", name, flag)
			}
		}
	}
	return nil
}

// sink returns where transcripts go, or an error about the flags.
func (t *transcribing) sink(files []string) (sink, error) {
	formats := t.formats
	if len(formats) == 0 {
		formats = []transcript.Format{transcript.TXT}
	}
	if slices.Index(files, "-") != lastIndex(files, "-") {
		return nil, usagef("standard input can be read only once")
	}
	if t.dir != "" {
		f, err := newFolder(t.dir, formats, t.subtitles, files)
		f.force, f.skip = t.force, t.skip
		if !t.log.quiet && (t.errTerminal || len(files) > 1) {
			f.told = t.err
		}
		return f, err
	}
	if len(formats) > 1 {
		return nil, usagef("--output-format: several formats need --output-dir")
	}
	f := formats[0]
	if t.timed && f != transcript.TXT {
		return nil, usagef("--timestamps writes text on standard output; %s has times of its own", f)
	}
	if len(files) > 1 && f != transcript.TXT && f != transcript.JSON {
		return nil, usagef("%s of several files needs --output-dir", f)
	}
	if f == transcript.TXT {
		return lines{t.out, t.line}, nil
	}
	return document{t.out, f, t.subtitles}, nil
}

func lastIndex(files []string, name string) int {
	for i := len(files) - 1; i >= 0; i-- {
		if files[i] == name {
			return i
		}
	}
	return -1
}
