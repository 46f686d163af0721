package text

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

// A fileRun transcribes files: what transcribe and watch share.
type fileRun struct {
	cli.Env
	name string // of the command

	model     setup.ModelFlags
	sound     setup.SoundFlags
	decoding  options.Decoding
	log       cli.LogFlags
	formats   []transcript.Format
	writing   transcript.Options
	pattern   string // of the names of outputs
	preset    string // of subtitles: off, on, or a name
	dir       string
	batch     int
	stats     bool
	recursive bool
	speakers  setup.SpeakerFlags
	flags     *pflag.FlagSet // all
	textFlags *pflag.FlagSet // those that change the text or the subtitles

	timed   bool                                               // times precede each printed segment
	printed bool                                               // segments are printed as they come
	write   func(name string, tr *transcript.Transcript) error // when a file is done
	folder  *folder                                            // where transcribe writes; nil for standard output

	transcriber *transcribe.Transcriber
	highlighter highlighter
	madeBy      *transcript.Provenance
	drafts      *setup.DraftSource
	bandwidth   float64 // bytes a second, for statistics
	totals      totals
}

// register adds the shared flags to a command, and its own.
func (t *fileRun) register(c *cobra.Command, own func(*pflag.FlagSet)) {
	cli.AddFlags(c, t.model.Register, t.registerFiles, own, t.log.Register)
	t.flags = c.Flags()
	t.textFlags = cli.AddFlags(c, setup.Decoding(&t.decoding, 0), t.sound.Register, t.registerSubtitles, t.registerSpeakers)
	t.textFlags.AddFlag(c.Flags().Lookup("sampler")) // the only drafting flag that may change the text
}

// registerFiles adds the flags for input and output files.
func (t *fileRun) registerFiles(f *pflag.FlagSet) {
	bindFormats(f, &t.formats)
	cli.Bind(f, "output-dir", &t.dir)
	cli.Bind(f, "name", &t.pattern)
	cli.Bind(f, "stats", &t.stats)
	cli.Bind(f, "progress", &t.log.Progress)
	cli.Bind(f, "batch", &t.batch)
	cli.Bind(f, "lines", &t.writing.Lines)
	cli.Bind(f, "bom", &t.writing.BOM)
	cli.Bind(f, "whisper-cpp-json", &t.writing.WhisperCPP)
	cli.Bind(f, "recursive", &t.recursive)
}

func (t *fileRun) registerSpeakers(f *pflag.FlagSet) {
	t.speakers.Register(f, true, &t.writing.Embeddings)
}

func (t *fileRun) registerSubtitles(f *pflag.FlagSet) {
	o := &t.writing.Subtitles
	cli.Bind(f, "subtitles", &t.preset)
	bindLimit(f, "max-line-width", &o.MaxLineWidth)
	bindLimit(f, "max-line-count", &o.MaxLineCount)
	cli.Bind(f, "max-words-per-line", &o.MaxWordsPerLine)
	cli.Bind(f, "max-cps", &o.MaxCPS)
	bindSeconds(f, "min-gap", &o.MinGap)
	bindSeconds(f, "min-duration", &o.MinDuration)
	bindSeconds(f, "max-duration", &o.MaxDuration)
	cli.Bind(f, "highlight-words", &o.HighlightWords)
}

// unlimited is what 0 means to a limit of lines.
const unlimited = math.MaxInt32

// bindLimit adds an option of a number, of which 0 means no limit.
func bindLimit(f *pflag.FlagSet, name string, to *int) {
	cli.AddOption(f, name, func(v options.Value) error {
		*to = cmp.Or(int(v.Number), unlimited)
		return nil
	})
	*to = 0 // AddOption has set the default
}

// bindSeconds adds an option of seconds; none is a negative time.
func bindSeconds(f *pflag.FlagSet, name string, to *time.Duration) {
	cli.AddOption(f, name, func(v options.Value) error {
		if *to = time.Duration(v.Number * float64(time.Second)); v.Off {
			*to = -1
		}
		return nil
	})
}

// composed reports whether subtitles are cut for reading.
func (t *fileRun) composed() bool { return t.preset != "off" && t.preset != "" }

// written returns how formats are written: by the preset, but for what other flags say.
func (t *fileRun) written() transcript.Options {
	o := t.writing
	o.Times = t.timed
	if s := &o.Subtitles; t.composed() {
		s.Composed = true
		preset, _ := transcript.Preset(t.preset)
		s.MaxLineWidth = cmp.Or(s.MaxLineWidth, preset.MaxLineWidth)
		s.MaxLineCount = cmp.Or(s.MaxLineCount, preset.MaxLineCount)
		s.MaxCPS = cmp.Or(s.MaxCPS, preset.MaxCPS)
		s.MinGap, s.CloseGaps, s.Dash = cmp.Or(s.MinGap, preset.MinGap), preset.CloseGaps, preset.Dash
		s.MinDuration = cmp.Or(s.MinDuration, preset.MinDuration)
		s.MaxDuration = cmp.Or(s.MaxDuration, preset.MaxDuration)
	}
	for _, limit := range []*int{&o.Subtitles.MaxLineWidth, &o.Subtitles.MaxLineCount} {
		if *limit == unlimited && !t.composed() {
			*limit = 0
		}
	}
	return o
}

// checkLimits refuses limits of subtitles that contradict each other.
func (t *fileRun) checkLimits() error {
	o := t.written().Subtitles
	if !o.Composed && o.MaxLineCount > 0 && o.MaxLineWidth == 0 {
		return cli.Usagef("--max-line-count needs --max-line-width above 0, or --subtitles")
	}
	least, most := o.Durations()
	if !o.Composed || least <= most {
		return nil
	}
	rules := "--subtitles"
	if t.preset != "on" {
		rules += "=" + t.preset
	}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(math.Round(d.Seconds()*100)/100, 'f', -1, 64) }
	switch own := t.writing.Subtitles; {
	case own.MinDuration == 0:
		return cli.Usagef("--max-duration %s: is less than the minimum of %s, %s s; raise it, or add --min-duration",
			seconds(most), rules, seconds(least))
	case own.MaxDuration == 0:
		return cli.Usagef("--min-duration %s: is more than the maximum of %s, %s s; lower it, or add --max-duration",
			seconds(least), rules, seconds(most))
	}
	return cli.Usagef("--min-duration %s: is more than --max-duration %s", seconds(least), seconds(most))
}

// warnIneffective logs which flags of the command line change nothing in the formats that are written.
func (t *fileRun) warnIneffective() {
	formats, needed := t.outputs(), map[string]bool{}
	var changed []*options.Option
	t.flags.Visit(func(f *pflag.Flag) {
		if o := options.Find(f.Name); o != nil && cli.IsSet(f) {
			changed = append(changed, o)
			needed[o.Needs] = true
		}
	})
	if cli.IsSet(t.flags.Lookup("hotwords")) && cli.IsSet(t.flags.Lookup("terms")) {
		slog.Warn("--hotwords and --terms together lose words: use one")
	}
	for _, o := range changed {
		shown := func(f transcript.Format) bool { return slices.Contains(o.Formats, f) }
		if o.Formats == nil || slices.ContainsFunc(formats, shown) || needed[o.Name] || o.Name == "word-timestamps" && t.timed {
			continue
		}
		var names []string
		for _, f := range o.Formats {
			names = append(names, string(f))
		}
		slog.Warn(fmt.Sprintf("--%s has no effect on %s; it is for %s", o.Name, formats[0], show.JoinOr(names)))
	}
}

// outputs returns the formats to write.
func (t *fileRun) outputs() []transcript.Format {
	switch {
	case len(t.formats) > 0:
		return t.formats
	case t.composed():
		return []transcript.Format{transcript.SRT}
	}
	return []transcript.Format{transcript.TXT}
}

// bindFormats adds --output-format, which may be repeated.
func bindFormats(f *pflag.FlagSet, to *[]transcript.Format) {
	cli.AddOption(f, "output-format", func(v options.Value) error {
		if !f.Changed("output-format") {
			*to = nil // the default
		}
		if v.Text == "" {
			return nil
		}
		list, err := options.Formats(v.Text)
		for _, format := range list {
			if !slices.Contains(*to, format) {
				*to = append(*to, format)
			}
		}
		return err
	})
}
