package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the program says into README.md")

// TestReadme runs the README's command on the demo model: what it shows is what
// users see, standard error first.
func TestReadme(t *testing.T) {
	t.Chdir("../..")
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const command = "$ bin/verity transcribe models/demo/demo.wav\n"
	before, rest, ok := strings.Cut(string(raw), command)
	want, after, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("README.md does not show %q in a block", command)
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), env{out: &out, err: &stderr}, []string{"transcribe", "models/demo/demo.wav"}); code != 0 {
		t.Fatalf("status %d:\n%s", code, stderr.String())
	}
	got := stderr.String() + out.String()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md shows something else (-README +program; -update rewrites it):\n%s", diff)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(before+command+got+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
