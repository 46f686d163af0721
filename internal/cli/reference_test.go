package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const referenceHead = `# Command line

Written by ` + "`go generate ./cmd/verity`" + ` from the program's own flags and types; a test fails when it is not current.
` + "`verity FILE`" + ` is short for ` + "`verity transcribe FILE`" + `. Underscores in flag names are taken for hyphens.

## Exit status

| status | means |
|---|---|
| 0 | done |
| 1 | some input failed; the others are done |
| 2 | wrong usage; nothing was done |
| 3 | ` + "`compare`, `report` and `selftest`" + `: outputs differ that must be equal, or nothing was compared |
| 130 | interrupted; what was finished stays written |
`

// TestReference holds docs/CLI.md against the program: every command, flag, default
// and field of JSON. -update writes it.
func TestReference(t *testing.T) {
	onBase(t)
	name := filepath.Join("..", "..", "docs", "CLI.md")
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, c := range newRoot(env{}).Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" && c.Name() != "help" {
			writeCommand(&b, c)
		}
	}
	writeSchemas(t, &b)
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(raw), b.String()); diff != "" {
		t.Errorf("docs/CLI.md is not current: run go generate ./cmd/verity (-file +program):\n%s", diff)
	}
}

// writeCommand writes a command's text and its flags, a table for each group.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n    %s\n", c.CommandPath(), c.UseLine())
	text, _, _ := strings.Cut(c.Long, "\n\nExit status:")
	if text == "" {
		text = c.Short + "."
	}
	// Lines that begin with two spaces are examples, which Markdown wants four of.
	fmt.Fprintf(b, "\n%s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n  ", "\n    "))
	flags := c.LocalFlags()
	for _, title := range groupsOf(flags) {
		rows := ""
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && titleOf(f) == title {
				rows += flagRow(f)
			}
		})
		if rows != "" {
			fmt.Fprintf(b, "\n**%s**\n\n| flag | default | meaning |\n|---|---|---|\n%s", title, rows)
		}
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			writeCommand(b, sub)
		}
	}
}

// flagRow is a flag as a row of a table.
func flagRow(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value == "string" {
		value = "name"
	}
	if value != "" {
		name += " " + strings.ToUpper(value)
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, cell(defaultOf(f)), cell(text))
}

// cell makes text fit into one cell of a table.
func cell(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(lines, " "))
}
