package text

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
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
	textFlags *pflag.FlagSet // flags that change the text or the subtitles

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
	t.textFlags = cli.AddFlags(c, setup.Decoding(&t.decoding, 0), t.sound.Register, t.registerSubtitles)
	t.textFlags.AddFlag(c.Flags().Lookup("sampler")) // the only drafting flag that may change the text
	completeFormats(c)
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
	cli.Bind(f, "recursive", &t.recursive)
	t.speakers.Register(f, &t.writing.Embeddings)
}

func (t *fileRun) registerSubtitles(f *pflag.FlagSet) {
	o := &t.writing.Subtitles
	cli.Bind(f, "subtitles", &t.preset)
	cli.Bind(f, "max-line-width", &o.MaxLineWidth)
	cli.Bind(f, "max-line-count", &o.MaxLineCount)
	cli.Bind(f, "max-words-per-line", &o.MaxWordsPerLine)
	cli.Bind(f, "max-cps", &o.MaxCPS)
	bindSeconds(f, "min-gap", &o.MinGap)
	bindSeconds(f, "min-duration", &o.MinDuration)
	bindSeconds(f, "max-duration", &o.MaxDuration)
	cli.Bind(f, "highlight-words", &o.HighlightWords)
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
		s.MinGap, s.CloseGaps = cmp.Or(s.MinGap, preset.MinGap), preset.CloseGaps
		s.MinDuration = cmp.Or(s.MinDuration, preset.MinDuration)
		s.MaxDuration = cmp.Or(s.MaxDuration, preset.MaxDuration)
	}
	return o
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

// bindFormats adds --output-format.
func bindFormats(f *pflag.FlagSet, to *[]transcript.Format) {
	cli.AddOption(f, "output-format", func(v options.Value) (err error) {
		if *to = nil; v.Text != "" {
			*to, err = options.Formats(v.Text)
		}
		return err
	})
}

// completeFormats completes a list of formats by one more.
func completeFormats(c *cobra.Command) {
	complete := func(_ *cobra.Command, _ []string, typed string) (values []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, f := range transcript.Formats() {
			if !slices.Contains(strings.Split(before, ","), string(f)) {
				values = append(values, before+string(f))
			}
		}
		if before == "" {
			values = append(values, "all")
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	cli.Must(c.RegisterFlagCompletionFunc("output-format", complete))
}
