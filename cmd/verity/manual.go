package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"verity/cmd/internal/cli"
	"verity/internal/output"
)

// helpCommand makes "verity help COMMAND" refuse words that are not commands.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, err := root.Find([]string{"help"})
	cli.Must(err)
	c.Use, c.Short, c.Long = "help [COMMAND]", "Show help for a command", "Help prints what COMMAND --help prints."
	c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
		of, rest, err := c.Root().Find(args)
		if err != nil {
			return cli.UsageError{Err: err}
		}
		if len(rest) > 0 && of.HasSubCommands() {
			_, err := cli.UnknownCommand(of, rest[0])
			return err
		}
		if err := cli.NoArgs(of, rest); err != nil {
			return err
		}
		return of.Help()
	}
}

// manualCommand writes the manual pages for make install.
func manualCommand(root *cobra.Command) *cobra.Command {
	c := cli.New("manual DIR", "Write the manual pages", "Manual writes a page of man for each command.",
		func(_ context.Context, args []string) error {
			if _, err := output.MakeDir(args[0]); err != nil {
				return err
			}
			forEach(root, plainUsage)
			forEach(root, describe)
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Source: "verity " + cli.Version, Manual: "Verity"}, args[0])
		})
	c.Args, c.Hidden = cli.OneArg("one DIRECTORY for the pages"), true
	return c
}

// describe makes the help of a command Markdown, where examples are indented by four.
func describe(c *cobra.Command) {
	c.Long = strings.ReplaceAll(strings.TrimSpace(cmp.Or(c.Long, c.Short+".")), "\n  ", "\n    ")
}
