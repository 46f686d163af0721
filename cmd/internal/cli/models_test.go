package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/model/digits"
	"verity/model/hub"
)

// cached puts the model of digits into a cache under the name of a published one.
func cached(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	t.Setenv("HF_HUB_OFFLINE", "1")
	dir := filepath.Join(home, "models--openai--whisper-tiny", "snapshots", strings.Repeat("a", 40))
	if err := os.CopyFS(dir, digits.Target()); err != nil {
		t.Fatal(err)
	}
}

// TestModels: a model in the cache is found by its short name, listed and removed.
func TestModels(t *testing.T) {
	cached(t)
	c, err := OpenCheckpoint(t.Context(), "openai/whisper-tiny", false)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, name := range []string{"small", "some/model"} {
		if _, err := OpenCheckpoint(t.Context(), name, false); err == nil || !strings.Contains(err.Error(), "the network is not to be used") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	if _, err := OpenCheckpoint(t.Context(), "./nowhere", false); err == nil || !strings.Contains(err.Error(), "no such directory or file; want the path of a checkpoint") {
		t.Errorf("error = %v", err)
	}
	if got := hub.FromEnv().Assistant("large-v2"); got != "openai/whisper-tiny" {
		t.Errorf("the partner of large-v2 in the cache is %q", got)
	}
	if got := hub.FromEnv().Assistant("large-v3"); got != "" {
		t.Errorf("the partner of large-v3 is %q", got)
	}
}
