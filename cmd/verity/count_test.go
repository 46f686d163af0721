package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
)

// flagNames returns the flags of all commands.
func flagNames() []string {
	names := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "no-descriptions" {
				names[f.Name] = true
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(cli.Env{}))
	return slices.Sorted(maps.Keys(names))
}

// TestFlagCount: all commands together have few flags. One more needs one less, or a reason here.
func TestFlagCount(t *testing.T) {
	const most = 95
	if names := flagNames(); len(names) > most || len(names) < 50 {
		t.Errorf("%d flags, want at most %d: %s", len(names), most, strings.Join(names, " "))
	}
}
