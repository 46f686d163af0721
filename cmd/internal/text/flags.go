package text

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
	"verity/transcript"
)

// transcribeFlags are the flags of transcribe; watch has most of them.
type transcribeFlags struct {
	model     setup.ModelFlags
	sound     setup.SoundFlags
	decoding  options.Decoding
	log       cli.LogFlags
	formats   []transcript.Format
	subtitles transcript.Subtitles
	dir       string
	batch     int
	stats     bool
	recursive bool
	speakers  string
	textFlags *pflag.FlagSet // flags that decide on the text or the subtitles

	// Of transcribe alone.
	highlight string
	timed     bool
	force     bool
	skip      bool
}

// register adds flags to a command, and those that transcribe and watch share.
func (t *transcribeFlags) register(c *cobra.Command, own func(*pflag.FlagSet)) {
	cli.AddFlags(c, t.model.Register, t.registerFiles, own, t.log.Register)
	t.textFlags = cli.AddFlags(c, setup.Decoding(&t.decoding, 0), t.sound.Register, t.registerSubtitles)
	t.textFlags.AddFlag(c.Flags().Lookup("sampler")) // the one flag of drafting that may change the text
	completeFormats(c)
}

// registerFiles adds the flags of what can be written to files.
func (t *transcribeFlags) registerFiles(f *pflag.FlagSet) {
	bindFormats(f, &t.formats)
	cli.Bind(f, "output-dir", &t.dir)
	cli.Bind(f, "stats", &t.stats)
	cli.Bind(f, "progress", &t.log.Progress)
	cli.Bind(f, "batch", &t.batch)
	cli.Bind(f, "recursive", &t.recursive)
	cli.Bind(f, "speakers", &t.speakers)
}

func (t *transcribeFlags) registerSubtitles(f *pflag.FlagSet) {
	cli.Bind(f, "subtitles", &t.subtitles.Composed)
	cli.Bind(f, "max-line-width", &t.subtitles.MaxLineWidth)
	cli.Bind(f, "max-line-count", &t.subtitles.MaxLineCount)
	cli.Bind(f, "max-words-per-line", &t.subtitles.MaxWordsPerLine)
	cli.Bind(f, "highlight-words", &t.subtitles.HighlightWords)
}

// outputs returns the formats to write.
func (t *transcribeFlags) outputs() []transcript.Format {
	switch {
	case len(t.formats) > 0:
		return t.formats
	case t.subtitles.Composed:
		return []transcript.Format{transcript.SRT}
	}
	return []transcript.Format{transcript.TXT}
}

// bindFormats adds the flag for what is written.
func bindFormats(f *pflag.FlagSet, to *[]transcript.Format) {
	cli.AddOption(f, "output-format", func(v options.Value) (err error) {
		if *to = nil; v.Text != "" {
			*to, err = options.Formats(v.Text)
		}
		return err
	})
}

// completeFormats offers one more format behind those given so far, separated by
// commas.
func completeFormats(c *cobra.Command) {
	cli.Must(c.RegisterFlagCompletionFunc("output-format", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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
