// Package cli holds what the commands of the program share: the table of all options, with what each does, and streams,
// errors with an exit status, help, progress and the log.
//
// An option is a row of a section; the section's file also has what its values become:
//
//	run.go         Run: what every command that turns sound into text has
//	sound.go       SoundFlags.Clip → *audio.Clip
//	model.go       ModelFlags.Load → *verity.Model
//	assistant.go   AssistantFlags; texts.go: Run.OpenTexts → a text to draft from or to align for each sound
//	decoding.go    Decoding.Result → transcribe.Options
//	speakers.go    SpeakerFlags.Options → *diarize.Options
//	dataset.go     DatasetFlags.Open → Corpus, the utterances of a run
//	output.go      formats and subtitles, which package text writes
//
// Flags, environment variables, form fields, completion, help, manual pages, docs/reference/CLI.md and the names in
// errors derive from the table. Package verity resolves names, precisions and assistants; this package adds the names of
// flags to the library's errors.
//
//	c := cli.New("greet [flags]", "Print a greeting", long, func(ctx context.Context, args []string) error {
//		_, err := fmt.Fprintln(env.Out, "hello")
//		return err // a UsageError exits with status 2
//	})
//	cli.AddFlags(c, func(f *pflag.FlagSet) { cli.Bind(f, "quiet", &quiet) })
package cli
