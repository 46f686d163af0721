package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
)

// TestReference checks docs/reference/CLI.md against the program, and docs/reference/JSON.md
// against the types that it writes.
func TestReference(t *testing.T) {
	onBase(t)
	var b strings.Builder
	writeSchemas(t, &b)
	cliPage := execute(referenceTemplate, newRoot(cli.Env{}))
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
	if code, out, stderr := program(t, nil, "manual", "man", dir); code != 0 || out != "" {
		t.Fatalf("status %d: %s%s", code, out, stderr)
	}
	// A link under a name that the program chooses is replaced, not followed.
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	if err := os.Symlink(own, filepath.Join(shared, "verity-eval.1")); err == nil {
		code, _, stderr := program(t, nil, "manual", "man", shared)
		if b, err := os.ReadFile(own); code != 0 || string(b) != "precious" {
			t.Errorf("status %d, %s%.20q, %v", code, stderr, b, err)
		}
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
