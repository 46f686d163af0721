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
