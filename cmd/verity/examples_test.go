package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/model/digits"
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
		if strings.ContainsAny(line, "<…[") || strings.Contains(line, "  ") || strings.HasPrefix(line, "verity selftest the") {
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

// cannotRun says why an example of a help page cannot run in a test.
var cannotRun = map[string]string{
	"models pull": "it needs a network",
	"models rm":   "it needs what pull fetched",
	"plan --from": "it needs what bench measured", "plan --alpha 0.8 --from": "it needs what bench measured",
	"serve":                     "it runs until it is stopped",
	"listen":                    "it wants a microphone",
	"watch":                     "it runs until it is stopped",
	"transcribe --files-from -": "it wants a list, not sound",
	"bench":                     "it takes minutes",
	"selftest":                  "it starts itself again, which here is a test",
}

// TestExamplesRun runs the examples of every help page on the digits model, in a directory with
// the files that they name.
func TestExamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it takes a minute")
	}
	workshop(t)
	for _, c := range newRoot(cli.Env{}).Commands() {
		for _, args := range examplesOf(c.Long) {
			line := strings.Join(args, " ")
			t.Run(line, func(t *testing.T) {
				for prefix, why := range cannotRun {
					if strings.HasPrefix(line, prefix) {
						t.Skipf("SKIPPED: %s", why)
					}
				}
				var out, problem bytes.Buffer
				code := run(t.Context(), cli.Env{In: bytes.NewReader(digits.Sample()), Out: &out, Err: &problem}, stocked(t, args))
				if code != 0 && code != 3 { // 3: arms that drafted nothing, shards of other runs
					t.Errorf("status %d:\n%s", code, &problem)
				}
			})
		}
	}
}

// stocked replaces what an example names by what the workshop has.
func stocked(t *testing.T, args []string) (out []string) {
	for i, a := range args {
		switch {
		case strings.Contains(a, "*"):
			files, err := filepath.Glob(a)
			if err != nil || files == nil {
				t.Fatalf("%s: no files: %v", a, err)
			}
			out = append(out, files...)
			continue
		case strings.HasPrefix(a, "~/") && i > 0 && args[i-1] == "--out":
			a = filepath.Join("out", filepath.Base(a))
		case strings.HasPrefix(a, "~/distil"), strings.HasPrefix(a, "~/assistant"):
			a = "assistant"
		case strings.HasPrefix(a, "~/"), a == "small":
			a = "target"
		case strings.HasPrefix(a, "/tmp/"):
			a = strings.TrimPrefix(a, "/tmp/")
		case a == "de":
			a = "en"
		case a == "large-v2":
			a = "tiny"
		}
		out = append(out, a)
	}
	return out
}

// workshop makes a directory with what the examples name, and goes there.
func workshop(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	copyFS := func(dir string, fail error) {
		if fail != nil {
			t.Fatalf("%s: %v", dir, fail)
		}
	}
	copyFS("target", os.CopyFS("target", digits.Target()))
	copyFS("assistant", os.CopyFS("assistant", digits.Assistant()))
	for _, dir := range []string{"LibriSpeech/test-clean/1/2", "LibriSpeech/dev-clean/1/2"} {
		copyFS(dir, os.MkdirAll(dir, 0o755))
		copyFS(dir, os.WriteFile(dir+"/1-2-0.wav", digits.Sample(), 0o600))
		copyFS(dir, os.WriteFile(dir+"/1-2.trans.txt", []byte("1-2-0 ONE TWO THREE\n"), 0o600))
	}
	for name, content := range map[string]string{
		"talk.wav": string(digits.Sample()), "talk.flac": string(digits.Sample()), "talk.mp3": string(digits.Sample()),
		"manifest.jsonl": `{"audio":"talk.wav","text":"one two three","split":"test"}` + "\n" + `{"audio":"talk.mp3","text":"one two three","split":"test"}` + "\n",
	} {
		copyFS(name, os.WriteFile(name, []byte(content), 0o600))
	}
	for _, args := range []string{"--out out/plain -a none", "--out out/assisted"} {
		if code, _, stderr := program(t, nil, append(strings.Fields("eval -q -d manifest.jsonl"), strings.Fields(args)...)...); code != 0 {
			t.Fatalf("eval %s: %s", args, stderr)
		}
	}
}
