package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write what the program says into README.md and docs")

// shown matches a block of a document that begins with a command of ours.
var shown = regexp.MustCompile("(?ms)^```\n(\\$ verity .*?)^```$")

// unsteady matches what differs from one run to the next: times, speeds, shares of
// the time, the room that columns take for them, and whether a speed-up is a result, also in words.
var unsteady = regexp.MustCompile(`Drafts \([^)]*\)[^;\n]*|; (?:inconclusive|noise): .*|\d[\d.e+-]* (µs|ms|s|min|h)\b|\d[\d.e+-]*×|\(\d+ %\)| {2,}`)

func steady(s string) string {
	return unsteady.ReplaceAllStringFunc(s, func(m string) string {
		switch m[0] {
		case ' ':
			return " "
		case ';':
			return ""
		}
		return "#"
	})
}

// shows are the documents whose commands are run, and the commands that must be in
// one of them.
var (
	shows    = []string{"README.md", "docs/GUIDE.md", "docs/EVALUATION.md"}
	mustShow = []string{"transcribe", "eval", "compare", "report"}
)

// TestReadme runs the commands in documents on the models of this repository. The output must
// equal the document, standard error first, except for measured numbers. -update rewrites the
// documents.
func TestReadme(t *testing.T) {
	onBase(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, name := range shows {
		t.Run(name, func(t *testing.T) { checkDocument(t, root, name, ran) })
	}
	for _, name := range mustShow {
		if !ran[name] && !t.Failed() {
			t.Errorf("%v show no run of verity %s", shows, name)
		}
	}
}

// checkDocument runs the blocks of one document in an empty directory.
func checkDocument(t *testing.T, root, name string, ran map[string]bool) {
	file := filepath.Join(root, filepath.FromSlash(name))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// What commands write stays out of the repository.
	t.Chdir(t.TempDir())
	for _, dir := range []string{"model", "examples"} {
		if err := os.Symlink(filepath.Join(root, dir), dir); err != nil {
			t.Skipf("needs symbolic links: %v", err)
		}
	}
	text := shown.ReplaceAllStringFunc(string(raw), func(block string) string {
		want := shown.FindStringSubmatch(block)[1]
		got := ""
		for line := range strings.Lines(want) {
			if command, ok := strings.CutPrefix(line, "$ verity "); ok {
				ran[strings.Fields(command)[0]] = true
				got += line + said(t, command)
			}
		}
		if diff := cmp.Diff(steady(want), steady(got)); diff != "" {
			if !*update {
				t.Errorf("%s shows something else (-document +program; -update rewrites it):\n%s", name, diff)
			}
			return "```\n" + got + "```"
		}
		return block
	})
	if *update && text != string(raw) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// said runs a command line, which may end in "| head -N" or "> /dev/null", and
// returns what a terminal shows.
func said(t *testing.T, typed string) string {
	t.Helper()
	line, head, cut := strings.Cut(strings.TrimSpace(typed), " | head -")
	line, silent := strings.CutSuffix(line, " > /dev/null")
	var out, stderr bytes.Buffer
	if code := run(t.Context(), cli.Env{Out: &out, Err: &stderr}, strings.Fields(line)); code != 0 {
		t.Fatalf("verity %s: status %d:\n%s", line, code, stderr.String())
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if cut {
		n, err := strconv.Atoi(head)
		if err != nil {
			t.Fatalf("verity %s | head -%s: %v", line, head, err)
		}
		lines = lines[:min(n, len(lines))]
	}
	if silent {
		lines = nil
	}
	return stderr.String() + strings.Join(lines, "")
}
