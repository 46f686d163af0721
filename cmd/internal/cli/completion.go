package cli

import (
	"github.com/spf13/cobra"

	"verity/audio"
)

// CompleteSound completes arguments with sound files.
func CompleteSound(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return audio.Endings(), cobra.ShellCompDirectiveFilterFileExt
	}
}

// CompleteOr completes the value of a flag with some values, or with files and directories.
func CompleteOr(c *cobra.Command, flag string, values ...string) {
	Must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveDefault)))
}

// CompleteValues completes the value of a flag with some values.
func CompleteValues(c *cobra.Command, flag string, values ...string) {
	Must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}
