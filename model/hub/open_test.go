package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestForeignFiles: weights that openai/whisper or whisper.cpp have downloaded are found.
func TestForeignFiles(t *testing.T) {
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
		if path, err := new(Client).locate(t.Context(), name); err != nil || path != want {
			t.Errorf("%s: locate = %s, %v, want %s", name, path, err, want)
		}
	}
}

// TestNameError: the error of an unknown model name suggests similar names; the error of a
// missing file does not. owner/name is a path where owner is a directory.
func TestNameError(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("mine", 0o755); err != nil {
		t.Fatal(err)
	}
	c := &Client{Cache: t.TempDir(), Offline: true}
	if _, err := c.Open(t.Context(), "openai/whisper-base"); !errors.Is(err, ErrOffline) {
		t.Errorf("a published model: error = %v", err)
	}
	for name, want := range map[string]string{
		"smal": "; did you mean small", "whisper-smal": "; did you mean small", "./nowhere": "; want the path of a checkpoint",
		"models/ggml-base.en.bin": "there is no such directory or file; use the name base.en: Verity downloads that model", "models/ggml-small-q5_1.bin": "; use the name small: Verity",
		"models/ggml-x.bin": "there is no such directory or file; want the path of a checkpoint", "there/is.PT": "there is no such directory or file; want",
		"models/mine": "is a path, not a published model", "mine/x": "is a path, not a published model", "models/small": "; did you mean small",
		"": `model "": there is no such directory or file`,
	} {
		_, err := c.Open(t.Context(), name)
		if !errors.As(err, new(*NameError)) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error = %v, want one with %q", name, err, want)
		}
	}
}
