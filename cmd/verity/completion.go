package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
	"verity/model/hub"
	"verity/tokenizer"
)

// completionCommand adds cobra's completion command, and makes it refuse unknown shells.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args = cli.NoArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}

// plainUsage makes the help of every flag a single line without backquotes, since shells show it
// as it is, up to the first newline.
func plainUsage(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, text := pflag.UnquoteUsage(f)
		f.Usage = strings.ReplaceAll(text, "\n", "; ")
	})
	for _, sub := range c.Commands() {
		plainUsage(sub)
	}
}

// completeOptions completes the values of all options that have no completion yet.
func completeOptions(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		o := options.Find(f.Name)
		if _, done := c.GetFlagCompletionFunc(f.Name); o == nil || done {
			return
		}
		switch {
		case o.Name == "model":
			cli.CompleteOr(c, o.Name, hub.AllNames()...)
		case o.Name == "assistant":
			cli.CompleteOr(c, o.Name, setup.AssistantNames()...)
		case o.Name == "language":
			cli.CompleteValues(c, o.Name, languages()...)
		case len(o.Choices) > 0:
			cli.CompleteValues(c, o.Name, o.Choices...)
		case o.Arg == "directory":
			cli.Must(c.MarkFlagDirname(o.Name))
		case o.Kind != options.Switch && o.Arg != "file" && o.Name != "ffmpeg":
			cli.CompleteValues(c, o.Name)
		}
	})
	for _, sub := range c.Commands() {
		completeOptions(sub)
	}
}

// languages returns the codes of languages, described by their names.
func languages() []string {
	values := []string{cobra.CompletionWithDesc("auto", "detect it")}
	for _, l := range tokenizer.KnownLanguages() {
		values = append(values, cobra.CompletionWithDesc(l.Code, l.Name))
	}
	return values
}
