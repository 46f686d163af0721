package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"verity/cmd/internal/cli"
	"verity/model/digits"
)

// TestWatch: the files of the directory are transcribed, and a signal ends the command with
// status 0.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "in"), fstest.MapFS{
		"a.wav": {Data: digits.Sample()}, "deep/b.wav": {Data: digits.Sample()}, "0.wav": {Data: []byte("no sound")},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := ""
	stderr := writerFunc(func(p []byte) (int, error) {
		if said += string(p); strings.Count(said, "written to") == 2 {
			cancel()
		}
		return len(p), nil
	})
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	args := []string{"watch", in, "-o", out, "--recursive", "--temperature-increment-on-fallback=none", "-f", "lines,srt"}
	if code := run(ctx, cli.Env{Out: io.Discard, Err: stderr}, args); code != 0 {
		t.Errorf("status %d", code)
	}
	for _, name := range []string{"a.txt", "a.srt", "deep/b.txt", "deep/b.srt"} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), "nine seven\n") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if strings.Count(said, "0.wav") != 1 || !strings.Contains(said, "verity watch: ") {
		t.Errorf("said %q", said)
	}
}
