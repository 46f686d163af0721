package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var man = flag.String("man", "", "write man pages to this directory (make dist)")

// TestManPages writes a page for each command and looks for its flags there. Its date
// is SOURCE_DATE_EPOCH, so that the same revision gives the same bytes.
func TestManPages(t *testing.T) {
	dir := *man
	if dir == "" {
		dir = t.TempDir()
		t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRoot(env{})
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd("completion")
	markExamples(root)
	header := &doc.GenManHeader{Section: "1", Source: "verity", Manual: "Verity"}
	if stamp := os.Getenv("SOURCE_DATE_EPOCH"); stamp == "" {
		now := time.Now()
		header.Date = &now
	}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	checkPage(t, dir, root)
	page, err := os.ReadFile(filepath.Join(dir, "verity-info.1"))
	if err != nil || !strings.Contains(string(page), ".EX\nverity info\nverity info small\n") {
		t.Errorf("%v: the examples of info are not lines of their own:\n%s", err, page)
	}
}

// markExamples indents the examples in the texts of a command, and of those under it, as
// the generator of man pages wants them.
func markExamples(c *cobra.Command) {
	c.Long = strings.ReplaceAll(c.Long, "\n  ", "\n\t")
	for _, sub := range c.Commands() {
		markExamples(sub)
	}
}

// checkPage looks for the flags of a command, and of those under it, in their pages.
func checkPage(t *testing.T, dir string, c *cobra.Command) {
	t.Helper()
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(raw), `\-`, "-")
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(page, fmt.Sprintf("--%s", f.Name)) {
			t.Errorf("%s lacks --%s", name, f.Name)
		}
	})
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			checkPage(t, dir, sub)
		}
	}
}
