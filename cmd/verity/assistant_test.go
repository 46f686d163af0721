package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/internal/testing/testmodel"
)

// TestBrokenAssistant: an assistant with corrupt weights causes one warning, and files are
// transcribed without it. compare is inconclusive and says why.
func TestBrokenAssistant(t *testing.T) {
	model, sick, sound := modelDir(t), t.TempDir(), filepath.Join(t.TempDir(), "tone.wav")
	testmodel.WriteFS(t, sick, testmodel.Changed(t, os.DirFS(model), "model.decoder.layer_norm.bias", func(data []byte) {
		copy(data, "\xff\xff\xff\xff") // not a number in any type
	}))
	if err := os.WriteFile(sound, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	with := []string{"-m", model, "-a", sick, "--draft-tokens", "2"}
	run := func(command string, more ...string) (int, string, string) {
		return program(t, nil, append(append([]string{command}, with...), more...)...)
	}
	names := []string{sick + ": decoder: logit of token", "their weights are corrupt", "run without it (--assistant none)"}

	_, want, _ := program(t, nil, "transcribe", "-m", model, "-l", "en", sound)
	code, text, errs := run("transcribe", "-l", "en", "--stats", sound)
	warnings := strings.Count("\n"+errs, "\nverity: ") - strings.Count(errs, "verity: The machine was busy")
	if code != 0 || text != want || warnings != 1 {
		t.Errorf("transcribe: status %d, text %q, want 0 and %q, and one warning:\n%s", code, text, want, errs)
	}
	_, table, _ := strings.Cut(errs, "  broken ")
	for _, part := range names {
		if !strings.Contains(table, part) {
			t.Errorf("--stats: no %q in %q", part, table)
		}
	}
	code, _, errs = run("compare", "-q", "-l", "en", sound)
	for _, part := range append(names, "inconclusive: nothing was drafted: ") {
		if code != 3 || !strings.Contains(errs, part) {
			t.Errorf("compare: status %d, want 3 and %q:\n%s", code, part, errs)
		}
	}
}
