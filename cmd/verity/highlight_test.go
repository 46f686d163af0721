package main

import (
	"os"
	"regexp"
	"testing"
)

var escape = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestHighlight: marks appear where requested, change nothing else, and are underlines without
// colours.
func TestHighlight(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/tone.wav"
	if err := os.WriteFile(file, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"transcribe", "-m", modelDir(t), "-l", "en", "-q", "-a", "self", "--draft-tokens", "3", file}
	_, plain, _ := program(t, nil, args...)
	for _, tt := range []struct {
		flag, noColor string
		code          int
		mark          string
	}{
		{"--show-drafts", "", 0, ""}, // not a terminal
		{"--show-drafts=never", "", 0, ""},
		{"--show-drafts=always", "", 0, "\x1b[32m"},
		{"--show-drafts=always", "1", 0, "\x1b[4m"},
		{"--show-drafts=loud", "", 2, ""},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		code, out, errs := program(t, nil, append(args, tt.flag)...)
		if code != tt.code || code == 0 && escape.ReplaceAllString(out, "") != plain {
			t.Errorf("%s: status %d, %q, want %d, %q\n%s", tt.flag, code, out, tt.code, plain, errs)
		}
		if first := escape.FindString(out); first != tt.mark {
			t.Errorf("%s, NO_COLOR=%s: first mark %q, want %q", tt.flag, tt.noColor, first, tt.mark)
		}
	}
	if code, _, _ := program(t, nil, append(args, "--show-drafts", "-f", "json")...); code != 2 {
		t.Errorf("--show-drafts of JSON: status %d, want 2", code)
	}
}
