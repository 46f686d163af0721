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

// TestFlagCount limits the number of flags of all commands together. A new flag replaces an old
// one, or the limit here rises with a reason. The last rise was for what people asked for by name: limits of
// subtitles, lists of files, names of outputs, tracks, speakers, names of voices, terms; top-k and top-p, with which
// people sample elsewhere; then for report --table, which evaluators asked for, and for operators an address for metrics and a
// check before a restart.
func TestFlagCount(t *testing.T) {
	const most = 98
	if names := flagNames(); len(names) > most || len(names) < 50 {
		t.Errorf("%d flags, want at most %d: %s", len(names), most, strings.Join(names, " "))
	}
}
