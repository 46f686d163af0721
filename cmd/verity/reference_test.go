package main

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
)

// referenceTemplate is docs/reference/CLI.md: all options once, then every command.
//
//go:embed reference.md.tmpl
var referenceTemplate string

// referenceFuncs are the functions of referenceTemplate.
var referenceFuncs = template.FuncMap{
	"written":     cli.Written,
	"allOptions":  allOptions,
	"allCommands": allCommands,
	"own":         ownFlags,
	"shared":      sharedFlags,
	"synopsis": func(c *cobra.Command) string {
		text, _, _ := strings.Cut(c.Long, "\n\nExit status:")
		return text
	},
	"limits":   cli.Limits,
	"text":     func(f *pflag.Flag) string { _, text := pflag.UnquoteUsage(f); return text },
	"flagOnly": func(f *pflag.Flag) bool { return cli.Find(f.Name).Scope&(cli.Configurable|cli.Server) == 0 },
	"cell":     strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", "<br>").Replace,
	"anchor":   func(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") },
}

// allOptions returns the table of options as flags.
func allOptions() []cli.Group[*pflag.Flag] {
	var flags []*pflag.Flag
	for _, o := range cli.All() {
		flags = append(flags, cli.NewFlag(o, nil))
	}
	return cli.GroupFlags(flags, false)
}

// allCommands returns the commands under c that deserve a section of the reference.
func allCommands(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			list = append(append(list, sub), allCommands(sub)...)
		}
	}
	return list
}

// isShared reports whether a flag means exactly what the table of options says.
func isShared(f *pflag.Flag) bool {
	o := cli.Find(f.Name)
	return o != nil && f.Usage == o.Help
}

// ownFlags returns the flags that only this command explains.
func ownFlags(c *cobra.Command) (own []*pflag.Flag) {
	for _, g := range cli.FlagGroups(c, false) {
		own = append(own, slices.DeleteFunc(g.Items, isShared)...)
	}
	return own
}

// sharedFlags returns the flags that the table of options explains.
func sharedFlags(c *cobra.Command) []cli.Group[*pflag.Flag] {
	groups := cli.FlagGroups(c, false)
	for i := range groups {
		groups[i].Items = slices.DeleteFunc(groups[i].Items, func(f *pflag.Flag) bool { return !isShared(f) })
	}
	return slices.DeleteFunc(groups, func(g cli.Group[*pflag.Flag]) bool { return len(g.Items) == 0 })
}

// TestReference checks docs/reference/CLI.md against the program, and docs/reference/JSON.md
// against the types that it writes.
func TestReference(t *testing.T) {
	onBase(t)
	var b strings.Builder
	writeSchemas(t, &b)
	root, page := newRoot(cli.Env{}), new(bytes.Buffer)
	forEach(root, describe)
	if err := template.Must(template.New("").Funcs(referenceFuncs).Parse(referenceTemplate)).Execute(page, root); err != nil {
		t.Fatal(err)
	}
	cliPage := page.String()
	for name, want := range map[string]string{"CLI.md": cliPage, "JSON.md": b.String()} {
		name := filepath.Join("..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(raw), want); diff != "" {
			t.Errorf("%s is not current: run go generate ./cmd/verity (-file +program):\n%s", name, diff)
		}
	}
	if lines := strings.Count(cliPage, "\n"); lines > 800 {
		t.Errorf("docs/reference/CLI.md has %d lines, want at most 800", lines)
	}
}

// TestManual writes the manual pages as make install does, and checks that they have every
// command and flag.
func TestManual(t *testing.T) {
	onBase(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := t.TempDir()
	if code, out, stderr := program(t, nil, "manual", dir); code != 0 || out != "" {
		t.Fatalf("status %d: %s%s", code, out, stderr)
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		raw, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(string(raw), `\-`, "-")
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "version" && !strings.Contains(page, "--"+f.Name) {
				t.Errorf("%s lacks --%s", c.CommandPath(), f.Name)
			}
		})
		if strings.Contains(page, "default digits") || !strings.HasPrefix(page, ".nh\n.TH \"VERITY") || !strings.Contains(page, `"Nov 2023"`) {
			t.Errorf("%s: %.200s", c.CommandPath(), page)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
	}
	visit(newRoot(cli.Env{}))
	page, err := os.ReadFile(filepath.Join(dir, "verity-info.1"))
	if err != nil || !bytes.Contains(page, []byte(".EX\nverity info\nverity info small\n")) {
		t.Errorf("%v: the examples of info are not lines of their own:\n%s", err, page)
	}
}
