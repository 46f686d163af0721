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
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

const transcribeHelp = `Transcribe writes the text of sound files to standard output, a line per segment,
as soon as it is known, in the order given. WAV, FLAC, MP3, Ogg Opus, Ogg Vorbis,
WebM, AIFF, CAF, AU and Wave64 files of any rate, width and number of channels are
read; "-" is standard input.

With --output-dir the text goes to files there instead, NAME.txt for NAME.wav, and
so for the other formats. A file that exists is replaced only with --force;
--skip-existing leaves it, so that an interrupted run can be resumed.

Several files as JSON on standard output are one object a line. On standard output
the text of several files follows without a mark; each name is said on standard
error first.

A file that cannot be transcribed does not stop the others. On an interrupt, what
was finished stays written.

A threshold is turned off by "none", a switch that is on by --NAME=false.

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
	formats   formatList
	json      bool
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
}

func transcribeCommand(e env) *cobra.Command {
	t := &transcribing{env: e, decoding: newDecodingFlags()}
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
	addFlags(c, flagGroup{commonFlags, t.model.registerModel})
	t.made = addFlags(c, flagGroup{commonFlags, t.decoding.registerLanguage})
	addFlags(c, flagGroup{commonFlags, t.registerOutput})
	t.made.AddFlagSet(addFlags(c,
		flagGroup{inputFlags, t.sound.register},
		flagGroup{inputFlags, t.decoding.vad.register},
	))
	addFlags(c, flagGroup{inputFlags, t.registerShow})
	t.made.AddFlagSet(addFlags(c,
		flagGroup{inputFlags, t.registerSubtitles},
		flagGroup{textFlags, t.decoding.registerText},
		flagGroup{qualityFlags, t.decoding.registerQuality},
	))
	drafts := addFlags(c,
		flagGroup{speedFlags, t.model.registerSpeed},
		flagGroup{speedFlags, t.decoding.registerChunks},
		flagGroup{speedFlags, t.registerSpeed},
		flagGroup{draftFlags, t.model.assistant.register},
		flagGroup{logFlagGroup, t.log.register},
	)
	t.made.AddFlag(drafts.Lookup("sampler")) // the one flag of drafting that may change the text
	t.model.complete(c)
	t.decoding.complete(c)
	t.log.complete(c)
	must(c.MarkFlagDirname("output-dir"))
	completeFormats(c)
	completeSound(c)
	completeValues(c, "highlight", highlightModes...)
	completeValues(c, "progress", progressModes...)
	return c
}

func (t *transcribing) registerOutput(f *pflag.FlagSet) {
	f.VarP(&t.formats, "output-format", "f",
		"txt, srt, vtt, tsv, lrc, csv, json, several of them between commas, or all (default txt)")
	f.StringVarP(&t.dir, "output-dir", "o", "", "write files to this `directory` instead of standard output")
	f.BoolVar(&t.force, "force", false, "with --output-dir, replace files that exist")
	f.BoolVar(&t.skip, "skip-existing", false, "with --output-dir, leave files that exist, and skip sound files "+
		"whose outputs all do")
}

func (t *transcribing) registerShow(f *pflag.FlagSet) {
	f.BoolVar(&t.timed, "timestamps", false, "on standard output, write the times of each segment before its text")
	f.BoolVar(&t.json, "json", false, "add json to the formats; alone it is the only one")
	f.BoolVar(&t.stats, "stats", false, "write the work of each file to standard error: tokens, drafts, times, memory "+
		"read beside what this machine can read. JSON of several files on standard output ends with an object of the totals")
	f.StringVar(&t.highlight, "highlight", "never", "mark text that the assistant drafted: auto (on a terminal; what "+
		"the flag alone means), always, never. NO_COLOR underlines it")
	f.Lookup("highlight").NoOptDefVal = "auto"
	registerProgress(f, &t.progress)
}

func (t *transcribing) registerSubtitles(f *pflag.FlagSet) {
	f.IntVar(&t.subtitles.MaxLineWidth, "max-line-width", 0,
		"with --word-timestamps, most `characters` in a line of a subtitle; 0 for any")
	f.IntVar(&t.subtitles.MaxLineCount, "max-line-count", 0,
		"with --max-line-width, most `lines` in a subtitle; 0 for any")
	f.IntVar(&t.subtitles.MaxWordsPerLine, "max-words-per-line", 0,
		"with --word-timestamps, most `words` in a subtitle; 0 for any")
	f.BoolVar(&t.subtitles.HighlightWords, "highlight-words", false,
		"with --word-timestamps, underline each word in srt and vtt as it is spoken")
}

// checkSubtitles refuses flags that would do nothing.
func (t *transcribing) checkSubtitles() error {
	s := t.subtitles
	for _, x := range []struct {
		flag  string
		value int
	}{{"max-line-width", s.MaxLineWidth}, {"max-line-count", s.MaxLineCount}, {"max-words-per-line", s.MaxWordsPerLine}} {
		if x.value < 0 {
			return usagef("--%s %d: must be 0 or more", x.flag, x.value)
		}
		if x.value > 0 && !t.decoding.opt.WordTimestamps {
			return usagef("--%s needs --word-timestamps", x.flag)
		}
	}
	switch {
	case s.HighlightWords && !t.decoding.opt.WordTimestamps:
		return usagef("--highlight-words needs --word-timestamps")
	case s.MaxLineCount > 0 && s.MaxLineWidth == 0:
		return usagef("--max-line-count needs --max-line-width")
	case s.MaxWordsPerLine > 0 && s.MaxLineWidth > 0:
		return usagef("--max-words-per-line has no effect with --max-line-width: take one")
	}
	return nil
}

func (t *transcribing) registerSpeed(f *pflag.FlagSet) {
	f.IntVar(&t.batch, "batch", 1, "transcribe this `number` of files at the same time: they share every pass over the "+
		"weights. The text does not depend on it")
}

func (t *transcribing) run(ctx context.Context, files []string) error {
	logger, err := t.log.logger(t.err)
	if err != nil {
		return err
	}
	opt, err := t.decoding.options(logger)
	if err != nil {
		return err
	}
	if err := t.sound.check(); err != nil {
		return err
	}
	if err := checkBatch(t.batch); err != nil {
		return err
	}
	if err := t.checkSubtitles(); err != nil {
		return err
	}
	if err := t.checkOutput(files); err != nil {
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
	tr, err := t.transcribe.Transcribe(ctx, clip, transcribe.Watch{
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

// checkOutput refuses flags that contradict each other or would do nothing.
func (t *transcribing) checkOutput(files []string) error {
	stray := t.stray(files)
	switch {
	case len(stray) > 0:
		return usagef("%s: there is no such file; a value of --%s stands behind =: --%[2]s=%[3]s", stray[0], stray[1], either(highlightModes))
	case !slices.Contains(progressModes, t.progress):
		return oneOf("progress", t.progress, progressModes...)
	case t.force && t.skip:
		return usagef("--force overwrites what --skip-existing leaves: take one")
	case (t.force || t.skip) && t.dir == "":
		return usagef("--force and --skip-existing need --output-dir")
	}
	return nil
}

// stray returns a value that was taken for a file because its flag needs an equals
// sign, and that flag.
func (t *transcribing) stray(files []string) []string {
	for _, name := range files {
		if _, err := os.Stat(name); err == nil {
			continue
		}
		// A word with nothing of a path in it is hardly a sound file.
		word := !strings.ContainsAny(name, `./\`)
		switch {
		case t.highlight == "auto" && word:
			return []string{name, "highlight"}
		case t.progress == "always" && word:
			return []string{name, "progress"}
		}
	}
	return nil
}

// sink returns where transcripts go, or an error about the flags.
func (t *transcribing) sink(files []string) (sink, error) {
	formats := t.formats
	if t.json && !slices.Contains(formats, transcript.JSON) {
		formats = append(formats, transcript.JSON)
	}
	if len(formats) == 0 {
		formats = formatList{transcript.TXT}
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
		return nil, usagef("--output-format %s: several formats need --output-dir", &formats)
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
