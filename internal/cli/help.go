package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/options"
	"verity/internal/output"
)

// groupKey is the annotation that holds the heading of a flag in help.
const groupKey = "verity_group"

// addFlags adds flags to a command, and returns those that it added.
func addFlags(c *cobra.Command, register ...func(*pflag.FlagSet)) *pflag.FlagSet {
	added := pflag.NewFlagSet("", pflag.ContinueOnError)
	added.SortFlags = false
	for _, r := range register {
		r(added)
	}
	c.Flags().SortFlags = false
	c.Flags().AddFlagSet(added)
	return added
}

// titled puts flags that are not in the table under a heading.
func titled(title string, register func(*pflag.FlagSet)) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		register(f)
		f.VisitAll(func(flag *pflag.Flag) {
			if flag.Annotations[groupKey] == nil {
				must(f.SetAnnotation(flag.Name, groupKey, []string{title}))
			}
		})
	}
}

// titleOf returns the heading of a flag.
func titleOf(f *pflag.Flag) string {
	if t := f.Annotations[groupKey]; len(t) == 1 {
		return t[0]
	}
	return "Flags"
}

// briefKey is the annotation of a command whose help was asked for with -h.
const briefKey = "verity_brief"

// addHelp adds --help, which explains everything, and -h, which fits on one screen, to a
// command and those under it.
func addHelp(c *cobra.Command) {
	c.Flags().Bool("help", false, "explain everything")
	c.Flags().BoolFuncP("short-help", "h", "show the common flags", func(string) error {
		c.Annotations = map[string]string{briefKey: "true"}
		return c.Flags().Set("help", "true")
	})
	must(c.Flags().MarkHidden("short-help"))
	for _, sub := range c.Commands() {
		addHelp(sub)
	}
}

// writeHelp writes what a command does, and how to call it.
func writeHelp(c *cobra.Command, _ []string) {
	brief := c.Annotations[briefKey] != ""
	// An error is kept by the writer of the program, which reports it.
	fmt.Fprint(c.OutOrStdout(), pageOf(c, brief).terminal(brief))
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

// manualCommand writes the manual pages, or docs/CLI.md: packages and go generate call it.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual man DIR | manual markdown FILE", Short: "Write the manual", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "man" && args[0] != "markdown" {
				return usagef("want man DIR or markdown FILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "markdown" {
				return output.Write(c.Context(), args[1], c.OutOrStdout(), func(w io.Writer) error {
					_, err := io.WriteString(w, reference(c.Root()))
					return err
				})
			}
			if err := output.Dir(args[1]); err != nil {
				return err
			}
			return manPages(c.Context(), c.Root(), args[1])
		},
	}
}

// manPages writes a manual page for a command and each under it. Its date is
// SOURCE_DATE_EPOCH, so that the same revision gives the same bytes.
func manPages(ctx context.Context, c *cobra.Command, dir string) error {
	date := time.Now()
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(n, 0)
	}
	name := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	err := output.Write(ctx, name, nil, func(w io.Writer) error {
		_, err := io.WriteString(w, pageOf(c, false).man(date.UTC().Format(time.DateOnly)))
		return err
	})
	for _, sub := range c.Commands() {
		if err == nil && sub.IsAvailableCommand() {
			err = manPages(ctx, sub, dir)
		}
	}
	return err
}

const referenceHead = `# Command line

Written by ` + "`go generate ./cmd/verity`" + ` from the program itself; a test fails when it is not current. ` + "`verity FILE`" + ` is
short for ` + "`verity transcribe FILE`" + `. Underscores in flag names are read as hyphens. The JSON that commands write is
described in [JSON.md](JSON.md).

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | some input failed; the others are done |
| 2 | wrong usage; nothing was done |
| 3 | ` + "`compare`, `report` and `selftest`" + `: outputs differ that must be equal, or nothing was compared |
| 130 | interrupted; what was finished stays written |

## Options

Options that several commands take, or that decide the text. The option of a name is a flag (` + "`--beam-size 5`" + `), a key of
the configuration file (` + "`beam-size = 5`" + `, see [verity config](#verity-config)) and an environment variable
(` + "`VERITY_BEAM_SIZE=5`" + `), in this order of precedence. Those marked ° are flags only.
`

// reference is docs/CLI.md: all options once, then every command.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, title := range options.Groups {
		rows := ""
		for _, o := range options.All() {
			if o.Group != title {
				continue
			}
			f := &pflag.Flag{Name: o.Name, Shorthand: o.Short, Usage: o.Help, Value: &optionFlag{o: o}, DefValue: o.Zero()}
			_, text := pflag.UnquoteUsage(f)
			r := row{name: written(f), limits: limits(f), text: text}
			if o.Who&(options.Keep|options.Server) == 0 {
				r.text += " °"
			}
			rows += r.markdown()
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n### %s\n\n| option | values | meaning |\n|---|---|---|\n%s", title, rows)
		}
	}
	writeCommands(&b, root)
	return b.String()
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" {
			b.WriteString(pageOf(sub, false).markdown())
			writeCommands(b, sub)
		}
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
