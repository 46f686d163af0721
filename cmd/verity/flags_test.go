package main

import (
	"bytes"
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
// people sample elsewhere.
func TestFlagCount(t *testing.T) {
	const most = 114
	if names := flagNames(); len(names) > most || len(names) < 50 {
		t.Errorf("%d flags, want at most %d: %s", len(names), most, strings.Join(names, " "))
	}
}

// outside lists the flags that are not in the table of options, each with a number that it
// refuses, or "" if it accepts no number. TestCeilings of package options tests the table.
var outside = map[string]string{
	"synth --tokens": "224 --out x", "synth --alpha": "1.5 --out x", "synth --seed": "18446744073709551616",
	"compare --precision": "",
	"eval --shard":        "1/65537",
	"quantize --to":       "", "synth --size": "", "synth --out": "", "synth --assistant": "", "info --cost": "",
	"selftest --digest": "", "bench --size": "",
}

// TestNumericFlagBounds: a flag that is not in the table says here whether it takes a number, and refuses
// one beyond its ceiling.
func TestNumericFlagBounds(t *testing.T) {
	seen := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Value.(*cli.OptionFlag); ok || strings.Contains(f.Name, "help") || c.Parent().Name() == "completion" {
				return
			}
			name := strings.TrimPrefix(c.CommandPath(), "verity ") + " --" + f.Name
			most, listed := outside[name]
			switch seen[name] = true; {
			case !listed:
				t.Errorf("%s is not in the table of options (cmd/internal/options): add it there, or list it in outside", name)
			case most == "" && !slices.Contains([]string{"bool", "string", "stringArray", "format"}, f.Value.Type()):
				t.Errorf("%s accepts a %s, but is listed without a number", name, f.Value.Type())
			case most != "":
				var out bytes.Buffer
				args := append(strings.Fields(c.CommandPath())[1:], append([]string{"--" + f.Name}, strings.Fields(most)...)...)
				code := run(t.Context(), cli.Env{In: new(bytes.Buffer), Out: &out, Err: &out}, args)
				if code != 2 || !strings.Contains(out.String(), f.Name) || !strings.Contains(out.String(), strings.Fields(most)[0]) {
					t.Errorf("%s %s: status %d: %s", name, most, code, &out)
				}
			}
		})
	}
	walk(newRoot(cli.Env{}))
	for name := range maps.Keys(outside) {
		if !seen[name] {
			t.Errorf("%s is listed, but there is no such flag outside the table", name)
		}
	}
}
