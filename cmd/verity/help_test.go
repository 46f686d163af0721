package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
)

// TestHelpWidth checks that --help of every command fits the width of a terminal, and -h one screen.
func TestHelpWidth(t *testing.T) {
	commands := 0
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		commands++
		var out, problem bytes.Buffer
		if code := run(t.Context(), cli.Env{Out: &out, Err: &problem}, append(path[:len(path):len(path)], "--help")); code != 0 || problem.Len() > 0 {
			t.Errorf("%s --help: status %d, %s", c.CommandPath(), code, &problem)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.HelpWidth {
				t.Errorf("%s --help: a line of %d characters: %s", c.CommandPath(), n, line)
			}
		}
		var brief bytes.Buffer
		run(t.Context(), cli.Env{Out: &brief, Err: &problem}, append(path[:len(path):len(path)], "-h"))
		if n := strings.Count(brief.String(), "\n"); n > 40 || n < 5 || problem.Len() > 0 {
			t.Errorf("%s -h: %d lines, want one screen of 40:\n%s%s", c.CommandPath(), n, &brief, &problem)
		}
		for _, sub := range c.Commands() {
			visit(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	visit(newRoot(cli.Env{}), nil)
	if code, out, _ := program(t, nil, "help"); code != 0 || !strings.Contains(out, "\nMeasure:\n") {
		t.Errorf("help: status %d, %s", code, out)
	}
	if commands < 20 {
		t.Errorf("%d commands were checked, want all", commands)
	}
}
