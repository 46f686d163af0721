package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/show"
)

// Annotations of flags.
const (
	GroupKey = "verity_group" // the heading of the flag in help
	FromKey  = "verity_from"  // the environment variable that its default comes from
	AskedKey = "verity_asked" // another program's flag that stands for it
	manyKey  = "verity_many"  // it may be given more than once
)

// HelpWidth is the width of help, which fits a terminal of the usual size.
const HelpWidth = 80

// New returns a command without arguments. Its flags stay in the order in which they are added.
func New(use, short, long string, run func(ctx context.Context, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: NoArgs}
	c.RunE = func(c *cobra.Command, args []string) error { return run(c.Context(), args) }
	c.Flags().SortFlags = false
	return c
}

// AddFlags adds flags to a command and returns the added ones.
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

// Title puts those flags of a set that have no heading, since they are not in the table of options, under one.
func Title(f *pflag.FlagSet, title string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[GroupKey] == nil {
			Must(f.SetAnnotation(flag.Name, GroupKey, []string{title}))
		}
	})
}

// shortHelp is the hidden flag -h.
const shortHelp = "short-help"

// AddHelp gives a command two levels of help: -h fits on one screen, --help shows everything.
func AddHelp(c *cobra.Command) {
	c.SetHelpFunc(Help)
	c.Flags().Bool("help", false, "explain everything")
	setHelp := func(string) error { return c.Flags().Set("help", "true") }
	c.Flags().BoolFuncP(shortHelp, "h", "show the common flags", setHelp)
	Must(c.Flags().MarkHidden(shortHelp))
}

// Columns at which the text of a row begins. With -h it is always beside the name.
const commandColumn, flagColumn, shortColumn = 15, 26, 35

// Help prints the help of a command: all of it, or with -h one screen.
func Help(c *cobra.Command, _ []string) {
	text, hint := foldText(cmp.Or(c.Long, c.Short+".")), ""
	short, column, meaning := c.Flags().Changed(shortHelp), flagColumn, Meaning
	if short {
		text, column, meaning = c.Short, shortColumn, shortMeaning
		hint = fmt.Sprintf("\n%q shows the full help.\n", c.CommandPath()+" --help")
	}
	text += "\n\nUsage:\n  " + c.UseLine() + "\n"
	shown := slices.DeleteFunc(slices.Clone(c.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() && c.Name() != "help"
	})
	for _, g := range grouped(shown, func(c *cobra.Command) string { return cmp.Or(c.GroupID, "Commands") }) {
		text += "\n" + g.Title + ":\n"
		for _, sub := range g.Items {
			text += layOut(sub.Name(), sub.Short, commandColumn)
		}
		hint = fmt.Sprintf("\n\"%s COMMAND -h\" shows common flags, --help shows everything.\n", c.CommandPath())
	}
	for _, g := range FlagGroups(c, short) {
		text += "\n" + g.Title + ":\n"
		for _, f := range g.Items {
			name := Written(f)
			if f.Shorthand == "" {
				name = "    " + name
			}
			text += layOut(name, meaning(f), column)
		}
	}
	io.WriteString(c.OutOrStdout(), text+hint)
}

// A Group is a heading of help with commands, flags or rows under it.
type Group[T any] struct {
	Title string
	Items []T
}

// grouped puts items under their headings, in the order in which headings first occur.
func grouped[T any](items []T, title func(T) string) (groups []Group[T]) {
	for _, item := range items {
		i := slices.IndexFunc(groups, func(g Group[T]) bool { return g.Title == title(item) })
		if i < 0 {
			i, groups = len(groups), append(groups, Group[T]{Title: title(item)})
		}
		groups[i].Items = append(groups[i].Items, item)
	}
	return groups
}

// FlagGroups returns the flags of a command that help shows; if short, only the common ones,
// under fewer headings.
func FlagGroups(c *cobra.Command, short bool) []Group[*pflag.Flag] {
	var flags []*pflag.Flag
	c.Flags().VisitAll(func(f *pflag.Flag) {
		o := optionOf(f)
		rare := short && o != nil && !o.Common
		if !f.Hidden && f.Name != "help" && f.Name != "version" && !rare {
			flags = append(flags, f)
		}
	})
	return GroupFlags(flags, short)
}

// GroupFlags puts flags under their headings, in the order of the table of options; flags that
// are not in the table come last. Short help puts small sections under the headings of others.
func GroupFlags(flags []*pflag.Flag, short bool) []Group[*pflag.Flag] {
	all := All()
	place := func(f *pflag.Flag) uint { return uint(slices.Index(all, Find(f.Name))) } // -1 is the largest
	slices.SortStableFunc(flags, func(a, b *pflag.Flag) int { return cmp.Compare(place(a), place(b)) })
	return grouped(flags, func(f *pflag.Flag) string {
		title := strings.Join(f.Annotations[GroupKey], "")
		for _, s := range sections {
			if short && s.title == title {
				title = cmp.Or(s.short, title)
			}
		}
		return cmp.Or(title, "Flags")
	})
}

// Written returns a flag as it is typed, with the name of its value.
func Written(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	value, _ := pflag.UnquoteUsage(f)
	if value == "string" {
		value = "name"
	}
	return strings.TrimSpace(text + " " + strings.ToUpper(value))
}

// Limits returns which values a flag accepts and its default; empty if any value will do.
func Limits(f *pflag.Flag) string {
	var parts []string
	if o := optionOf(f); o != nil && o.Range() != "" {
		parts = append(parts, o.Range())
	}
	if d := f.DefValue; !slices.Contains([]string{"", "0", "false", "[]"}, d) {
		if from := f.Annotations[FromKey]; from != nil {
			d += ", from " + from[0]
		}
		parts = append(parts, "default "+d)
	}
	return strings.Join(parts, "; ")
}

// Meaning returns what a flag does, with its limits.
func Meaning(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if limits := Limits(f); limits != "" {
		text += " (" + limits + ")"
	}
	return text
}

// shortMeaning returns what -h says about a flag: the first clause of its help.
func shortMeaning(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	for _, end := range []string{"\n", ". ", "; ", ": "} {
		text, _, _ = strings.Cut(text, end)
	}
	if open := strings.LastIndex(text, " ("); open > strings.LastIndex(text, ")") {
		text = text[:open] // the clause ended inside
	}
	return text
}

// layOut returns a row: a text at a column beside its name, or below a long name.
func layOut(name, text string, column int) string {
	head := "  " + name
	gap := column - len([]rune(head))
	if gap < 2 {
		head, gap = head+"\n", column
	}
	lines := show.Fold(text, HelpWidth-column)
	return head + strings.Repeat(" ", gap) + strings.Join(lines, "\n"+strings.Repeat(" ", column)) + "\n"
}

// foldText folds the paragraphs of a text to the width of help. Indented lines, which are
// examples and tables, stay as they are.
func foldText(text string) string {
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		block = strings.ReplaceAll(block, "\t", "  ")
		if !strings.HasPrefix(block, " ") {
			block = strings.Join(show.Fold(strings.ReplaceAll(block, "\n", " "), HelpWidth), "\n")
		}
		out = append(out, block)
	}
	return strings.Join(out, "\n\n")
}
