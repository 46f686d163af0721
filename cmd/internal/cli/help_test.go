package cli

import (
	"strings"
	"testing"
)

// TestFoldText: paragraphs are folded, examples are not.
func TestFoldText(t *testing.T) {
	long := strings.Repeat("word ", 20) + "end"
	got := foldText("One\ntwo.\n\n  verity x \\\n    --y\n\tz\n\n" + long)
	want := "One two.\n\n  verity x \\\n    --y\n  z\n\n" + strings.TrimSuffix(strings.Repeat("word ", 16), " ") +
		"\nword word word word end"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
