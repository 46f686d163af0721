package cli

import (
	"github.com/spf13/cobra"

	"verity/internal/input"
)

// CompleteSound offers sound files as arguments.
func CompleteSound(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return input.SoundFiles, cobra.ShellCompDirectiveFilterFileExt
	}
}

// CompleteOr offers values, or else files and directories.
func CompleteOr(c *cobra.Command, flag string, values ...string) {
	Must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveDefault)))
}

// CompleteValues offers the values of a flag to the shell.
func CompleteValues(c *cobra.Command, flag string, values ...string) {
	Must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}
