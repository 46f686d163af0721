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
)

var update = flag.Bool("update", false, "write what the program says into README.md")

// shown matches a block of README.md that begins with a command of ours.
var shown = regexp.MustCompile("(?ms)^```\n(\\$ bin/verity .*?)^```$")

// unsteady matches what differs from one run to the next: times, speeds, shares of
// the time, and the room that columns take for them.
var unsteady = regexp.MustCompile(`\d[\d.e+-]* (µs|ms|s|min|h)\b|\d[\d.e+-]*×|\(\d+ %\)| {2,}`)

func steady(s string) string {
	return unsteady.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, " ") {
			return " "
		}
		return "#"
	})
}

// TestReadme runs the README's commands on the demo model: what it shows is what
// users see, standard error first, but for what is measured. -update rewrites the
// blocks that show something else.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme := filepath.Join(root, "README.md")
	raw, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	// What commands write stays out of the repository.
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "models"), "models"); err != nil {
		t.Skipf("SKIPPED: no symbolic links here: %v", err)
	}
	ran := map[string]bool{}
	text := shown.ReplaceAllStringFunc(string(raw), func(block string) string {
		want := shown.FindStringSubmatch(block)[1]
		got := ""
		for line := range strings.Lines(want) {
			if command, ok := strings.CutPrefix(line, "$ bin/verity "); ok {
				ran[strings.Fields(command)[0]] = true
				got += line + said(t, command)
			}
		}
		if diff := cmp.Diff(steady(want), steady(got)); diff != "" {
			t.Errorf("README.md shows something else (-README +program; -update rewrites it):\n%s", diff)
			return "```\n" + got + "```"
		}
		return block
	})
	for _, name := range []string{"transcribe", "eval", "compare", "report"} {
		if !ran[name] {
			t.Errorf("README.md shows no run of verity %s", name)
		}
	}
	if *update && text != string(raw) {
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// said runs a command line, which may end in "| head -N" or "> /dev/null", and
// returns what a terminal shows.
func said(t *testing.T, command string) string {
	t.Helper()
	command, head, cut := strings.Cut(strings.TrimSpace(command), " | head -")
	command, silent := strings.CutSuffix(command, " > /dev/null")
	var out, stderr bytes.Buffer
	if code := run(t.Context(), env{out: &out, err: &stderr}, strings.Fields(command)); code != 0 {
		t.Fatalf("verity %s: status %d:\n%s", command, code, stderr.String())
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if cut {
		n, err := strconv.Atoi(head)
		if err != nil {
			t.Fatalf("verity %s | head -%s: %v", command, head, err)
		}
		lines = lines[:min(n, len(lines))]
	}
	if silent {
		lines = nil
	}
	return stderr.String() + strings.Join(lines, "")
}
