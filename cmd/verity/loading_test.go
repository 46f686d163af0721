package main

import (
	"bytes"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
)

// TestLoading: a terminal shows that the model is being loaded, and in a batch the number of
// finished files.
func TestLoading(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	names := soundFiles(t, dir, "a.wav", "b.wav", "c.wav")
	var out, err bytes.Buffer
	e := cli.Env{Out: &out, Err: &err, ErrTerminal: true, OutTerminal: true}
	args := append([]string{"transcribe", "-m", model, "--batch", "2", "--temperature-increment-on-fallback=none"}, names...)
	if code := run(t.Context(), e, args); code != 0 {
		t.Fatalf("status %d: %s", code, err.String())
	}
	for _, want := range []string{"loading ", "/3 files"} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("%q is not shown in %q", want, err.String())
		}
	}
}
