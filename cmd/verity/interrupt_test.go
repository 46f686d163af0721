package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"verity/cmd/internal/cli"
	"verity/internal/testing/testmodel"
	"verity/model"
)

// A fuse is a context that ends after a number of checks whether it has ended.
type fuse struct {
	context.Context
	end  func()
	left atomic.Int64
}

func (f *fuse) burn() {
	if f.left.Add(-1) == 0 {
		f.end()
	}
}

func (f *fuse) Err() error            { f.burn(); return f.Context.Err() }
func (f *fuse) Done() <-chan struct{} { f.burn(); return f.Context.Done() }

// TestInterruptKeepsOutputsWhole interrupts every writing command at many points. Every file it
// leaves must be complete or old.
func TestInterruptKeepsOutputsWhole(t *testing.T) {
	sounds := shelf(t, map[string]string{"a.wav": string(wav(0.3)), "a.txt": "so", "b.wav": string(wav(0.2)), "b.txt": "so"})
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/api/") {
			w.Write([]byte(`{"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}]}`))
			return
		}
		w.Header().Set("ETag", `"`+filepath.Base(r.URL.Path)+`"`)
		w.Write([]byte("{}"))
	}))
	defer hub.Close()
	t.Setenv("HF_ENDPOINT", hub.URL)
	t.Setenv("HF_HUB_CACHE", "cache")
	model, small, records, once := modelDir(t), testmodel.Write(t, testmodel.Named("bf16")), t.TempDir(), "--temperature-increment-on-fallback=none"
	if code, _, stderr := program(t, nil, "eval", "-m", model, once, "-l", "en", "-d", sounds, "--out", records); code != 0 {
		t.Fatal(stderr)
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"synth", "--size", "tiny", "--assistant", "tiny", "--out", "out"},
		{"quantize", small, "--precision", "mxfp6", "--out", "out/a"},
		{"transcribe", "-m", model, once, "-l", "en", "-f", "all", "--output-dir", "out/a", filepath.Join(sounds, "a.wav"), filepath.Join(sounds, "b.wav")},
		{"eval", "-m", model, once, "-l", "en", "-d", sounds, "--out", "out", "--html", "out.html"},
		{"compare", "-m", model, once, "-l", "en", "-a", "self", "-d", sounds, "--out", "out", "--html", "out.html"},
		{"report", records, "--html", "out.html"},
		{"models", "pull", "tiny"},
		{"manual", "out"},
	} {
		t.Run(args[0], func(t *testing.T) {
			for left := int64(1); ; left *= 3 {
				for _, old := range []string{"out", "out.html", "cache"} {
					if err := os.RemoveAll(old); err != nil {
						t.Fatal(err)
					}
				}
				ctx, end := context.WithCancel(t.Context())
				f := &fuse{Context: ctx, end: end}
				f.left.Store(left)
				var stderr bytes.Buffer
				code := run(f, cli.Env{Out: new(bytes.Buffer), Err: &stderr}, args)
				end()
				if code != 0 && code != interrupted {
					t.Errorf("status %d: %s", code, &stderr)
				}
				checkLeft(t, args[0])
				if f.left.Load() > 0 {
					return
				}
			}
		})
	}
}

const interrupted = 130

// checkLeft fails if a file below here is no whole one.
func checkLeft(t *testing.T, by string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			inside, err := os.ReadDir(path)
			if len(inside) == 0 && by != "models" && by != "manual" {
				t.Errorf("%s is left, and empty", path)
			}
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case strings.Contains(name, ".verity-"):
			t.Errorf("%s is left", path)
		case name == "config.json" && by != "models":
			c, err := model.Open(t.Context(), filepath.Dir(path))
			if err != nil {
				t.Errorf("a checkpoint is left that is not whole: %v", err)
				break
			}
			c.Close()
		case strings.HasSuffix(name, ".jsonl"):
			for line := range bytes.Lines(b) {
				if !json.Valid(line) {
					t.Errorf("%s holds %q", path, line)
				}
			}
		case strings.HasSuffix(name, ".json") && !json.Valid(b), strings.HasSuffix(name, ".html") && !bytes.HasSuffix(bytes.TrimSpace(b), []byte("</html>")):
			t.Errorf("%s is not whole: %q", path, b)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// soundFiles writes files of a second and returns their paths.
func soundFiles(t *testing.T, dir string, names ...string) (paths []string) {
	t.Helper()
	for _, n := range names {
		name := filepath.Join(dir, n)
		if err := os.WriteFile(name, wav(1), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, name)
	}
	return paths
}

// TestInterruptStatus: after an interrupt, finished outputs stay and the status is 130.
func TestInterruptStatus(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	names := append(soundFiles(t, dir, "a.wav"), "-")
	silent, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("a.wav: written to")) {
			cancel() // while the program waits for the second
		}
		return len(p), nil
	})
	out := filepath.Join(dir, "out")
	code := run(ctx, cli.Env{In: silent, Out: io.Discard, Err: stderr}, append([]string{"transcribe", "-m", model, "-o", out}, names...))
	if code != 130 {
		t.Errorf("status %d, want %d", code, 130)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.txt"))
	if len(files) != 1 || filepath.Base(files[0]) != "a.txt" {
		t.Errorf("written: %v, want a.txt alone", files)
	}
}

// TestInterruptWhileReading interrupts a program that waits for standard input.
func TestInterruptWhileReading(t *testing.T) {
	silent, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- run(ctx, cli.Env{In: silent, Out: io.Discard, Err: io.Discard}, []string{"transcribe", "-"})
	}()
	time.AfterFunc(50*time.Millisecond, cancel)
	select {
	case code := <-done:
		if code != 130 {
			t.Errorf("status %d, want %d", code, 130)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("still waiting for a silent pipe")
	}
}
