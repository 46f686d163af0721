package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/model/hub"
	"verity/model/quantize"
	"verity/tokenizer"
)

// completionCommand adds cobra's completion command, and makes it refuse unknown shells.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args = cli.NoArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = cli.NoArgs
		}
	}
}

// plainUsage makes the help of every flag a single line without backquotes, since shells and the
// manual show it as it is.
func plainUsage(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(cli.Meaning(f), "\n", "; ")
	})
}

// forEach calls f with a command and with those under it.
func forEach(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		forEach(sub, f)
	}
}

// completeFlags completes the values of the flags of a command. Only a shell's request may call it: cobra never
// forgets a completion, nor the command that it belongs to.
func completeFlags(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values := func(rest cobra.ShellCompDirective, values ...string) {
			cli.Must(c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, rest)))
		}
		const only, orFiles = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveDefault
		o := cli.Find(f.Name)
		switch name := c.Name() + " --" + f.Name; {
		case name == "quantize --precision":
			values(only, quantize.Formats()...)
		case f.Name == "model":
			values(orFiles, hub.AllNames()...)
		case f.Name == "assistant":
			values(orFiles, cli.AssistantNames()...)
		case f.Name == "language":
			values(only, languages()...)
		case o == nil:
		case len(o.Choices) > 0:
			values(only, o.Choices...)
		case o.Arg == "directory":
			cli.Must(c.MarkFlagDirname(f.Name))
		case o.Kind != cli.Switch && o.Arg != "file" && o.Name != "ffmpeg":
			values(only)
		}
	})
}

// languages returns the codes of languages, described by their names.
func languages() []string {
	values := []string{cobra.CompletionWithDesc("auto", "detect it")}
	for _, l := range tokenizer.KnownLanguages() {
		values = append(values, cobra.CompletionWithDesc(l.Code, l.Name))
	}
	return values
}
