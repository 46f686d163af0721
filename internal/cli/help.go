package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/options"
)

// A flagGroup is a part of a command's flags under one heading of its help. Groups of
// the same title are printed as one.
type flagGroup struct {
	title    string
	register func(*pflag.FlagSet)
}

// Titles of flags that are not in the table of options.
const (
	commonFlags  = options.Input
	inputFlags   = options.Input
	speedFlags   = options.Speed
	logFlagGroup = options.Log
)

// groupKey is the annotation that holds the title of a flag's group.
const groupKey = "verity_group"

// addFlags adds groups of flags to a command, and returns those of the groups.
func addFlags(c *cobra.Command, groups ...flagGroup) *pflag.FlagSet {
	added := pflag.NewFlagSet("", pflag.ContinueOnError)
	added.SortFlags = false
	for _, g := range groups {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		g.register(set)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[groupKey] == nil { // those of the table have one
				must(set.SetAnnotation(f.Name, groupKey, []string{g.title}))
			}
		})
		added.AddFlagSet(set)
	}
	c.Flags().SortFlags = false
	c.Flags().AddFlagSet(added)
	return added
}

// groupsOf returns the titles of a command's flags, common flags first.
func groupsOf(f *pflag.FlagSet) (titles []string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if t := titleOf(flag); !slices.Contains(titles, t) {
			titles = append(titles, t)
		}
	})
	place := func(title string) int {
		if i := slices.Index(options.Groups, title); i >= 0 {
			return i
		}
		return len(options.Groups)
	}
	slices.SortStableFunc(titles, func(a, b string) int { return place(a) - place(b) })
	return titles
}

func titleOf(f *pflag.Flag) string {
	if t := f.Annotations[groupKey]; len(t) == 1 {
		return t[0]
	}
	return "Flags"
}

// helpWidth is how wide help is: a terminal of the usual size shows it unbroken.
const helpWidth = 80

// writeHelp writes what a command does, and how to call it.
func writeHelp(c *cobra.Command, _ []string) {
	text := foldText(cmp.Or(c.Long, c.Short))
	// An error is kept by the writer of the program, which reports it.
	fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", strings.TrimRight(text, " \n"), c.UsageString())
}

// helpCommand is "verity help COMMAND", which refuses what is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Tell how a command is used",
		Long:  "Help writes what --help of a command writes.",
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if err := noArgs(of, rest); err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range of.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// usage writes how to call a command: its line, its commands, its flags in groups.
func usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	line := c.UseLine()
	if !c.HasParent() {
		line = "verity [flags of transcribe] FILE...\n  verity COMMAND [flags]" // withCommand takes both
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", line)
	if c.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	flags := c.Flags()
	for _, title := range groupsOf(flags) {
		var b strings.Builder
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && titleOf(f) == title {
				writeFlag(&b, f)
			}
		})
		if b.Len() > 0 {
			fmt.Fprintf(w, "\n%s:\n%s", title, b.String())
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun '%s COMMAND --help' for the flags of a command.\n", c.CommandPath())
	}
	return nil
}

// flagColumn is where the text of a flag begins.
const flagColumn = 26

// writeFlag writes a flag with its text beside it, or below it if its name is long.
func writeFlag(b *strings.Builder, f *pflag.Flag) {
	value, text := pflag.UnquoteUsage(f)
	if value == "string" {
		value = "name"
	}
	head := "      --" + f.Name
	if f.Shorthand != "" {
		head = "  -" + f.Shorthand + ", --" + f.Name
	}
	if value != "" {
		head += " " + strings.ToUpper(value)
	}
	if d := defaultOf(f); d != "" {
		if from := f.Annotations[fromKey]; from != nil {
			d += ", from " + from[0]
		}
		text += " (default " + d + ")"
	}
	at := len(head)
	b.WriteString(head)
	if at+2 > flagColumn {
		b.WriteByte('\n')
		at = 0
	}
	for _, line := range fold(text, helpWidth-flagColumn) {
		fmt.Fprintf(b, "%*s%s\n", flagColumn-at, "", line)
		at = 0
	}
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
			lines = append(lines, fold(strings.Join(paragraph, " "), helpWidth)...)
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

// fold breaks text into lines of at most width characters. A newline in the text
// stays one, with the indentation after it.
func fold(text string, width int) (lines []string) {
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
