package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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
	if path, err := locate(t.Context(), "tiny", false); err != nil || !strings.Contains(path, "models--openai--whisper-tiny") {
		t.Errorf("locate = %s, %v", path, err)
	}
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
	if _, err := OpenCheckpoint(t.Context(), "./nowhere", false); err == nil || !strings.Contains(err.Error(), "no such directory or file; name a checkpoint") {
		t.Errorf("error = %v", err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	pt := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "whisper", "small.en.pt")
	if err := os.MkdirAll(filepath.Dir(pt), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS("models", fstest.MapFS{"ggml-large-v3-turbo.bin": {}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"small.en": pt, "openai/whisper-small.en": pt, "turbo": filepath.Join("models", "ggml-large-v3-turbo.bin")} {
		if path, err := locate(t.Context(), name, false); err != nil || path != want {
			t.Errorf("%s: locate = %s, %v, want %s", name, path, err, want)
		}
	}
	if got := hub.FromEnv().Partner("large-v2"); got != "openai/whisper-tiny" {
		t.Errorf("the partner of large-v2 in the cache is %q", got)
	}
	if got := hub.FromEnv().Partner("large-v3"); got != "" {
		t.Errorf("the partner of large-v3 is %q", got)
	}
}
