package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GroupKey is the annotation that holds the heading of a flag in help.
const GroupKey = "verity_group"

// New returns a command that takes no arguments. Its flags stay in the order in which they
// are added.
func New(use, short, long string, run func(ctx context.Context, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: NoArgs}
	c.RunE = func(c *cobra.Command, args []string) error { return run(c.Context(), args) }
	c.Flags().SortFlags = false
	return c
}

// AddFlags adds flags to a command, and returns those that it added.
func AddFlags(c *cobra.Command, register ...func(*pflag.FlagSet)) *pflag.FlagSet {
	added := pflag.NewFlagSet("", pflag.ContinueOnError)
	added.SortFlags = false
	for _, r := range register {
		r(added)
	}
	c.Flags().SortFlags = false
	c.Flags().AddFlagSet(added)
	return added
}

// Titled puts flags that are not in the table under a heading.
func Titled(title string, register func(*pflag.FlagSet)) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		register(f)
		f.VisitAll(func(flag *pflag.Flag) {
			if flag.Annotations[GroupKey] == nil {
				Must(f.SetAnnotation(flag.Name, GroupKey, []string{title}))
			}
		})
	}
}

// titleOf returns the heading of a flag.
func titleOf(f *pflag.Flag) string {
	if t := f.Annotations[GroupKey]; len(t) == 1 {
		return t[0]
	}
	return "Flags"
}

// briefKey is the annotation of a command whose help was asked for with -h.
const briefKey = "verity_brief"

// AddHelp adds --help, which explains everything, and -h, which fits on one screen, to a
// command and those under it.
func AddHelp(c *cobra.Command) {
	c.Flags().Bool("help", false, "explain everything")
	c.Flags().BoolFuncP("short-help", "h", "show the common flags", func(string) error {
		c.Annotations = map[string]string{briefKey: "true"}
		return c.Flags().Set("help", "true")
	})
	Must(c.Flags().MarkHidden("short-help"))
	for _, sub := range c.Commands() {
		AddHelp(sub)
	}
}

// WriteHelp writes what a command does, and how to call it.
func WriteHelp(c *cobra.Command, _ []string) {
	brief := c.Annotations[briefKey] != ""
	// An error is kept by the writer of the program, which reports it.
	fmt.Fprint(c.OutOrStdout(), PageOf(c, brief).terminal(brief))
}

// defaultOf returns the default to show; empty if it says nothing.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]":
		return ""
	}
	if f.Name == "help" || f.Name == "version" {
		return ""
	}
	return f.DefValue
}

// foldText folds the paragraphs of a command's text to the width of help. Lines that are
// indented (examples and tables) and headings stay as they are.
func foldText(text string) string {
	var lines, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			lines = append(lines, Fold(strings.Join(paragraph, " "), HelpWidth)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.ContainsAny(line[:1], " \t#") {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		lines = append(lines, strings.ReplaceAll(line, "\t", "  "))
	}
	end()
	return strings.Join(lines, "\n")
}

// Fold breaks text into lines of at most width characters. A newline in the text
// stays one, with the indentation after it.
func Fold(text string, width int) (lines []string) {
	for part := range strings.SplitSeq(text, "\n") {
		indent := part[:len(part)-len(strings.TrimLeft(part, " "))]
		line := ""
		for word := range strings.FieldsSeq(part) {
			switch {
			case line == "":
				line = indent + word
			case len([]rune(line))+1+len([]rune(word)) > width:
				lines = append(lines, line)
				line = indent + word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}
