package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/internal/output"
)

// helpCommand makes cobra's "verity help COMMAND" refuse what is no command.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, err := root.Find([]string{"help"})
	cli.Must(err)
	c.Use, c.Short, c.Long = "help [COMMAND]", "Tell how a command is used", "Help writes what --help of a command writes."
	c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
		of, rest, err := c.Root().Find(args)
		if err != nil {
			return cli.UsageError{Err: err}
		}
		if err := cli.NoArgs(of, rest); err != nil {
			return err
		}
		return of.Help()
	}
}

// manualCommand writes the manual pages, or docs/reference/CLI.md: packages and go generate call it.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual man DIR | manual markdown FILE", Short: "Write the manual", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "man" && args[0] != "markdown" {
				return cli.Usagef("want man DIR or markdown FILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "markdown" {
				return output.Write(args[1], c.OutOrStdout(), func(w io.Writer) error {
					_, err := io.WriteString(w, reference(c.Root()))
					return err
				})
			}
			if _, err := output.Dir(args[1]); err != nil {
				return err
			}
			return manPages(c.Root(), args[1])
		},
	}
}

// manPages writes a manual page for a command and each under it. Its date is
// SOURCE_DATE_EPOCH, so that the same revision gives the same bytes.
func manPages(c *cobra.Command, dir string) error {
	date := time.Now()
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(n, 0)
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	err := output.WriteIn(dir, name, func(w io.Writer) error {
		_, err := io.WriteString(w, cli.PageOf(c, false).Man(date.UTC().Format(time.DateOnly)))
		return err
	})
	for _, sub := range c.Commands() {
		if err == nil && sub.IsAvailableCommand() {
			err = manPages(sub, dir)
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

Options that several commands take, or that decide the text. The option of a name is a flag (` + "`--beam-size 5`" + `), an
environment variable (` + "`VERITY_BEAM_SIZE=5`" + `) and a key of the configuration file (` + "`beam-size = 5`" + `, see
[verity config](#verity-config)), in this order of precedence. Those marked ° are flags only.
`

// reference is docs/reference/CLI.md: all options once, then every command.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, title := range options.Groups {
		rows := ""
		for _, o := range options.All() {
			if o.Group != title {
				continue
			}
			f := &pflag.Flag{Name: o.Name, Shorthand: o.Short, Usage: o.Help, Value: &cli.OptionFlag{O: o}, DefValue: o.Zero()}
			_, text := pflag.UnquoteUsage(f)
			r := cli.Row{Name: cli.Written(f), Limits: cli.Limits(f), Text: text}
			if o.Who&(options.Keep|options.Server) == 0 {
				r.Text += " °"
			}
			rows += r.Markdown()
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
			b.WriteString(cli.PageOf(sub, false).Markdown())
			writeCommands(b, sub)
		}
	}
}
