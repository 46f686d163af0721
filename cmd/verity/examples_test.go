package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
)

// example matches a command line of ours that stands on lines of its own, in help and in
// documents, with its continuation.
var example = regexp.MustCompile(`(?m)^ {2,}(?:\$ |[^\n]* \| )?(?:bin/)?(verity (?:[^\n]*\\\n)*[^\n]*)$|^\$ (verity [^\n]*)$`)

// examplesOf returns the command lines of a text as arguments.
func examplesOf(text string) (list [][]string) {
	for _, m := range example.FindAllStringSubmatch(text, -1) {
		line := regexp.MustCompile(`\s*\\\n\s*`).ReplaceAllString(m[1]+m[2], " ")
		line, _, _ = strings.Cut(line, " # ")
		line = strings.TrimRight(line, " ")
		for _, end := range []string{" | ", " > ", " 2> ", " && ", " &"} {
			line, _, _ = strings.Cut(line, end)
		}
		if strings.ContainsAny(line, "<…[") || strings.Contains(line, "  ") {
			continue // a pattern, or a row of a table
		}
		list = append(list, unquoted(line)[1:])
	}
	return list
}

// unquoted splits a line as a shell does that knows quotes.
func unquoted(line string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`).FindAllString(line, -1) {
		words = append(words, strings.NewReplacer(`"`, "", `'`, "").Replace(w))
	}
	return words
}

// TestExamplesParse checks that every example in help and documents names an existing command
// and flags, with values that they accept.
func TestExamplesParse(t *testing.T) {
	onBase(t)
	texts := map[string]string{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		texts[c.CommandPath()] = c.Long
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(cli.Env{}))
	documents, _ := filepath.Glob("../../docs/*.md")
	more, _ := filepath.Glob("../../docs/dev/*.md")
	for _, name := range slices.Concat(documents, more, []string{"../../README.md", "../../model/base/README.md"}) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(raw)
	}
	n := 0
	for where, text := range texts {
		for _, args := range examplesOf(text) {
			n++
			root := newRoot(cli.Env{})
			c, rest, err := root.Find(withCommand(root, args))
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err == nil {
				err = c.ValidateArgs(c.Flags().Args())
			}
			if err == nil {
				err = cli.Contradiction(c.Flags())
			}
			if err != nil {
				t.Errorf("%s: verity %s: %v", where, strings.Join(args, " "), err)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d examples were found: the expression is broken", n)
	}
}
