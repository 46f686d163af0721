package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
)

// outside are the flags that are not in the table of options, which TestCeilings there bounds, each
// with a number that it refuses; "" of those that take none.
var outside = map[string]string{
	"synth --tokens": "224 --out x", "synth --alpha": "1.5 --out x", "synth --seed": "18446744073709551616",
	"info --alpha": "1.5 --cost", "info --draft-cost": "1001 --alpha 0.5 --cost", "compare --precision": "",
	"eval --shard":  "1/65537",
	"quantize --to": "", "synth --size": "", "synth --out": "", "synth --assistant": "", "info --cost": "",
	"selftest --digest": "", "bench --size": "",
}

// TestNumbersOutside: a flag that is not in the table says here whether it takes a number, and refuses
// one beyond its ceiling.
func TestNumbersOutside(t *testing.T) {
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
				t.Errorf("%s is not in the table of options (cmd/internal/options): put it there, or list it in outside", name)
			case most == "" && !slices.Contains([]string{"bool", "string", "stringArray", "format"}, f.Value.Type()):
				t.Errorf("%s takes a %s, and is listed as one that takes no number", name, f.Value.Type())
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
			t.Errorf("%s is listed, and is no flag outside of the table", name)
		}
	}
}

// TestLargeConfig: a config file has a bound, too.
func TestLargeConfig(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, bytes.Repeat([]byte("# x\n"), 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(t.Context(), name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("1 MB of config: %v", err)
	}
}
