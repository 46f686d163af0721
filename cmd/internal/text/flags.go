package text

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

// A fileRun transcribes files: what transcribe and watch share.
type fileRun struct {
	name string // of the command
	cli.Run
	outputFlags
	recursive bool
	batch     int            // files at a time
	flags     *pflag.FlagSet // all
	to        destination    // set before the model is loaded
	session                  // set by load
}

// A destination is where transcripts go.
type destination struct {
	printed bool                                               // segments are printed as they come
	write   func(name string, tr *transcript.Transcript) error // when a file is done
	files   *outputDir                                         // of transcribe; nil for standard output
}

// A session is what the files of a run share once the model is loaded.
type session struct {
	transcriber *transcribe.Transcriber
	highlighter highlighter
	madeBy      *transcript.Provenance
	bandwidth   float64 // bytes a second, for statistics
	totals      totals
}

// outputFlags say what is written, and where.
type outputFlags struct {
	formats []transcript.Format
	writing transcript.Options
	rules   transcript.Subtitles // of --subtitles
	dir     string
	pattern string // of the names of outputs
	force   bool   // replace what exists
	skip    bool   // leave what exists
	stats   bool
	timed   bool // times precede each printed segment
}

// register adds the shared flags to a command, and its own.
func (t *fileRun) register(c *cobra.Command, own func(*pflag.FlagSet)) {
	cli.AddFlags(c, t.Model.Register, t.registerFiles, own, t.Log.Register)
	t.flags = c.Flags()
	t.TextFlags = cli.AddFlags(c, cli.DecodingFlags(&t.Decoding, 0), t.Sound.Register, t.registerSubtitles, t.registerSpeakers, t.registerAlign)
}

// registerFiles adds the flags for input and output files.
func (t *fileRun) registerFiles(f *pflag.FlagSet) {
	bindFormats(f, &t.formats, &t.writing.Lines)
	cli.Bind(f, "output-dir", &t.dir)
	cli.Bind(f, "name", &t.pattern)
	cli.Bind(f, "stats", &t.stats)
	cli.Bind(f, "progress", &t.Log.Progress)
	cli.Bind(f, "batch", &t.batch)
	cli.Bind(f, "recursive", &t.recursive)
}

func (t *fileRun) registerSpeakers(f *pflag.FlagSet) { t.Speakers.Register(f, true, true) }

func (t *fileRun) registerAlign(f *pflag.FlagSet) { cli.Bind(f, "align", &t.Align) }

func (o *outputFlags) registerSubtitles(f *pflag.FlagSet) {
	s := &o.writing.Subtitles
	cli.AddOption(f, "subtitles", func(v cli.Value) (err error) {
		o.rules, err = cli.Subtitles(v.Text)
		return err
	})
	bindLimit(f, "max-line-width", &s.MaxLineWidth)
	bindLimit(f, "max-line-count", &s.MaxLineCount)
	cli.Bind(f, "max-words-per-line", &s.MaxWordsPerLine)
	cli.Bind(f, "highlight-words", &s.HighlightWords)
}

// unlimited is what 0 means to a limit of lines.
const unlimited = math.MaxInt32

// bindLimit adds an option of a number, of which 0 means no limit.
func bindLimit(f *pflag.FlagSet, name string, to *int) {
	cli.AddOption(f, name, func(v cli.Value) error {
		*to = cmp.Or(int(v.Number), unlimited)
		return nil
	})
	*to = 0 // AddOption has set the default
}

// written returns how formats are written: by the rules of --subtitles, but for what other flags say.
func (f *outputFlags) written() transcript.Options {
	o, own := f.writing, f.writing.Subtitles
	o.Times, o.Subtitles, o.Locale = f.timed, f.rules, cli.Locale()
	s := &o.Subtitles
	s.MaxWordsPerLine, s.HighlightWords = own.MaxWordsPerLine, own.HighlightWords
	s.MaxLineWidth = cmp.Or(own.MaxLineWidth, s.MaxLineWidth)
	s.MaxLineCount = cmp.Or(own.MaxLineCount, s.MaxLineCount)
	for _, limit := range []*int{&s.MaxLineWidth, &s.MaxLineCount} {
		if *limit == unlimited && !s.Composed {
			*limit = 0
		}
	}
	return o
}

// checkLimits refuses limits of subtitles that lack another.
func (f *outputFlags) checkLimits() error {
	if o := f.written().Subtitles; !o.Composed && o.MaxLineCount > 0 && o.MaxLineWidth == 0 {
		return cli.Usagef("--max-line-count needs --max-line-width above 0, or --subtitles")
	}
	return nil
}

// warnIneffective logs which flags of the command line change nothing in the formats that are written.
func (t *fileRun) warnIneffective() {
	needed := map[string]bool{}
	var changed []*cli.Option
	t.flags.Visit(func(f *pflag.Flag) {
		if o := cli.Find(f.Name); o != nil && cli.IsSet(f) {
			changed = append(changed, o)
			needed[o.Needs] = true
		}
	})
	for _, o := range changed {
		if o.Formats == nil || t.writesAny(o.Formats) || needed[o.Name] || o.Name == "word-timestamps" && t.timed {
			continue
		}
		var names []string
		for _, f := range o.Formats {
			names = append(names, string(f))
		}
		slog.Warn(fmt.Sprintf("--%s has no effect on %s; it is for %s", o.Name, t.outputs()[0], show.JoinOr(names)))
	}
}

// outputs returns the formats to write.
func (f *outputFlags) outputs() []transcript.Format {
	switch {
	case len(f.formats) > 0:
		return f.formats
	case f.rules.Composed:
		return []transcript.Format{transcript.SRT}
	}
	return []transcript.Format{transcript.TXT}
}

// writesAny reports whether some of the formats to write are in a list.
func (f *outputFlags) writesAny(list []transcript.Format) bool {
	return slices.ContainsFunc(f.outputs(), func(format transcript.Format) bool { return slices.Contains(list, format) })
}

// bindFormats adds --output-format, which may be repeated. lines is whether TXT has a line for each segment.
func bindFormats(f *pflag.FlagSet, to *[]transcript.Format, lines *bool) {
	cli.AddOption(f, "output-format", func(v cli.Value) error {
		if !f.Changed("output-format") {
			*to, *lines = nil, false // the default
		}
		if v.Text == "" {
			return nil
		}
		list, inLines, err := cli.Formats(v.Text)
		*lines = *lines || inLines
		for _, format := range list {
			if !slices.Contains(*to, format) {
				*to = append(*to, format)
			}
		}
		return err
	})
	cli.Repeatable(f, "output-format")
}
