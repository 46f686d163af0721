package model_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/testmodel"
	"verity/model"
)

// onDisk returns the directory of the tiny checkpoint.
func onDisk(t *testing.T) string {
	t.Helper()
	return testmodel.Write(t, testmodel.Spec{DType: "f32", Shards: 1, Config: []byte(tinyConfig)})
}

// TestReading checks that a file that is cut after it was opened is an error, not a SIGBUS.
func TestReading(t *testing.T) {
	dir := onDisk(t)
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file := filepath.Join(dir, "model.safetensors")
	if err := os.Truncate(file, 100); err != nil {
		t.Skip("needs mapped files that can be cut: ", err)
	}
	err = c.Reading(func() error {
		for _, n := range c.Names() {
			if w, err := c.Weight(n); err != nil {
				return err
			} else if w.DType != 0 {
				w.Tensor().Float32()
			}
		}
		return nil
	})
	if !errors.Is(err, model.ErrChanged) || !strings.HasPrefix(err.Error(), file) {
		t.Errorf("error = %v, want ErrChanged with the file's name", err)
	}
}

// TestContext checks that nothing is opened if the context is done, and that Err reports
// it to later readers of weights.
func TestContext(t *testing.T) {
	dir := onDisk(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := model.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other := c.WithContext(t.Context())
	cancel()
	if c.Err() != context.Canceled || other.Err() != nil {
		t.Errorf("Err = %v, under another context %v", c.Err(), other.Err())
	}
	if _, err := model.Open(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want Canceled", err)
	}
}

// TestOdd opens directories in which something else is in the place of a file.
func TestOdd(t *testing.T) {
	const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 7\n"
	tests := []struct {
		name, file, content string
		link                bool
		want                []string
	}{
		{"git-lfs pointer as weights", "model.safetensors", lfs, false, []string{"git-lfs pointer", "git lfs pull"}},
		{"git-lfs pointer as config", "config.json", lfs, false, []string{"git-lfs pointer", "git lfs pull"}},
		{"HTML page as weights", "model.safetensors", "<!DOCTYPE html><html>" + strings.Repeat(" ", 99), false, []string{"HTML page"}},
		{"HTML page as config", "config.json", "<!DOCTYPE html>", false, []string{"HTML page"}},
		{"pickle as weights", "model.safetensors", "\x80\x02}q\x00(X\x05\x00\x00", false, []string{"a Python pickle"}},
		{"zip as weights", "model.safetensors", "PK\x03\x04aaaaaaaa", false, []string{"a zip file"}},
		{"missing blob of weights", "model.safetensors", "../blobs/0123", true, []string{"a link to ../blobs/0123", "download the model again"}},
		{"missing blob of config", "config.json", "../blobs/0123", true, []string{"a link to ../blobs/0123"}},
		{"missing blob of settings", "generation_config.json", "../blobs/0123", true, []string{"generation_config.json: it is a link"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := onDisk(t)
			path := filepath.Join(dir, tt.file)
			os.Remove(path)
			var err error
			if tt.link {
				err = os.Symlink(tt.content, path)
			} else {
				err = os.WriteFile(path, []byte(tt.content), 0o600)
			}
			if err != nil {
				t.Skip("needs mapped files that can be cut: ", err)
			}
			_, err = model.Open(t.Context(), dir)
			if err == nil {
				t.Fatal("opened")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error = %v, want %q", err, w)
				}
			}
		})
	}
}

// TestZeros: a file that has its length, but zeros where its last or middle bytes should be, as
// an interrupted copy leaves one, is no checkpoint. A null is no configuration.
func TestZeros(t *testing.T) {
	for _, name := range []string{"hf/model.safetensors", "ggml-model.bin", "model.pt", "ct2-float16/model.bin"} {
		b, err := os.ReadFile(filepath.Join(foreign, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int{len(b) / 4, len(b) / 2, len(b) * 3 / 4} {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(foreign)); err != nil {
				t.Fatal(err)
			}
			damaged := slices.Clone(b)
			clear(damaged[from : from+len(b)/5])
			if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(name, "/model.safetensors"), "/model.bin"))
			if c, err := model.Open(t.Context(), path); err == nil {
				c.Close()
				t.Errorf("%s with zeros from byte %d on is taken", name, from)
			}
		}
	}
	fsys := tiny(t)
	fsys["generation_config.json"] = file(" null\n")
	if _, err := model.OpenFS(fsys, "m"); !errors.Is(err, model.ErrConfig) {
		t.Errorf("null: %v", err)
	}
}
