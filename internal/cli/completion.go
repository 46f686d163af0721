package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/options"
	"verity/model/hub"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// completionCommand adds cobra's command to root, which would take any argument.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args = noArgs
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}

// plainUsage makes the texts of all flags one line without the marks of their values: shells
// show them as they are, up to the first newline.
func plainUsage(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, text := pflag.UnquoteUsage(f)
		f.Usage = strings.ReplaceAll(text, "\n", "; ")
	})
	for _, sub := range c.Commands() {
		plainUsage(sub)
	}
}

// completing makes a shell's question about "verity FILE" and "verity --flag" one about
// transcribe.
func completing(root *cobra.Command, args []string) []string {
	if len(args) < 2 || isCommand(root, args[1]) || len(args) == 2 && !strings.HasPrefix(args[1], "-") {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "transcribe")
}

// completeModel offers names of models as the argument, and files and directories.
func completeModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return modelNames(), cobra.ShellCompDirectiveDefault
}

// completeCached offers the models of the cache.
func completeCached(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if list, err := hub.FromEnv().List(); err == nil && len(args) == 0 {
		for _, m := range list {
			names = append(names, m.Repo)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSound offers sound files as arguments.
func completeSound(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{
			"wav", "flac", "mp3", "ogg", "oga", "opus", "webm", "aiff", "aif", "aifc", "caf", "au", "w64",
			"m4a", "mp4", "aac", "mov", "mkv", // by ffmpeg
		}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeOr offers values, or else files and directories.
func completeOr(c *cobra.Command, flag string, values ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveDefault)))
}

// completeValues offers the values of a flag to the shell.
func completeValues(c *cobra.Command, flag string, values ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// completeOptions offers the values of all flags of the table that have no completion of
// their own.
func completeOptions(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		o := options.Find(f.Name)
		if _, done := c.GetFlagCompletionFunc(f.Name); o == nil || done {
			return
		}
		switch {
		case o.Name == "model":
			completeOr(c, o.Name, modelNames()...)
		case o.Name == "assistant":
			completeOr(c, o.Name, assistantNames()...)
		case o.Name == "language":
			completeValues(c, o.Name, languages()...)
		case len(o.Choices) > 0:
			completeValues(c, o.Name, o.Choices...)
		case o.Unit == "directory":
			must(c.MarkFlagDirname(o.Name))
		case o.Kind != options.Switch && o.Unit != "file" && o.Name != "ffmpeg":
			completeValues(c, o.Name)
		}
	})
	for _, sub := range c.Commands() {
		completeOptions(sub)
	}
}

// languages are codes of languages, with their names beside them.
func languages() []string {
	values := []string{cobra.CompletionWithDesc("auto", "detect it")}
	for _, l := range tokenizer.KnownLanguages() {
		values = append(values, cobra.CompletionWithDesc(l.Code, l.Name))
	}
	return values
}

// modelNames are the names that --model takes beside paths.
func modelNames() []string {
	names := slices.Concat(strings.Split(insideNames(), " or "), hub.Names())
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// assistantNames are what --assistant takes beside models.
func assistantNames() []string {
	methods := []transcribe.Method{transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self}
	names := []string{"auto"}
	for _, m := range methods {
		names = append(names, string(m))
	}
	return names
}

// completeFormats offers one more format behind those given so far, separated by
// commas.
func completeFormats(c *cobra.Command) {
	must(c.RegisterFlagCompletionFunc("output-format", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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
