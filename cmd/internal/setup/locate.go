package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/model/hub"
)

// NewHub returns a client that shows the progress of downloads.
func NewHub() *hub.Client {
	h := hub.FromEnv()
	h.Notice = func(line string) { slog.Warn(line) }
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return h
	}
	b, current, began := cli.Bar{W: os.Stderr}, "", time.Time{}
	h.Progress = func(file string, done, total int64) {
		if file != current {
			current, began = file, time.Now()
		}
		if done >= total {
			b.Clear()
			return
		}
		share := float64(done) / float64(total)
		text := fmt.Sprintf("%s, %s of %s", file, show.Bytes(done), show.Bytes(total))
		if took := time.Since(began); took > time.Second && share > 0 {
			text += cli.Remaining(took, share)
		}
		b.Set(text, share)
	}
	return h
}

// locate returns the file or directory of a model: what there is of that name, or
// what the hub has, unless offline forbids asking it.
func locate(ctx context.Context, name string, offline bool) (string, error) {
	_, err := os.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, nil // opening it will report what is wrong with it
	}
	repo, ok := hub.Repo(name)
	switch {
	case name == DefaultModel && len(embeddedNames()) == 0: // it is not downloaded unasked
		return "", errors.New("this program was built without a model (-tags nomodel): name the directory of a Whisper checkpoint with --model DIR")
	case !ok || name == DefaultModel:
		return "", &missingModel{name}
	}
	h := NewHub()
	h.Offline = h.Offline || offline
	if dir, ok := h.Find(name); ok {
		return dir, nil
	}
	for _, file := range elsewhere(repo) {
		if i, err := os.Stat(file); err == nil && i.Mode().IsRegular() {
			return file, nil
		}
	}
	if !h.Offline && h.Cache != "" {
		slog.Warn("downloading", "model", repo, "to", h.Cache)
	}
	dir, err := h.Pull(ctx, name)
	if err == nil || ctx.Err() != nil {
		return dir, err
	}
	why := err.Error()
	if repo == name {
		why = strings.TrimPrefix(why, repo+": ")
	}
	if errors.Is(err, hub.ErrOffline) {
		why += "; run verity models pull " + name + " with a network"
	}
	return "", fmt.Errorf("model %s: there is no such directory or file here, and it could not be fetched: %s", name, why)
}

// elsewhere returns where openai/whisper and whisper.cpp put the weights of a published model:
// the former's cache, and models in the directory of the latter.
func elsewhere(repo string) []string {
	size, ok := strings.CutPrefix(repo, "openai/whisper-")
	if !ok {
		return nil
	}
	if size == "large" {
		size = "large-v1"
	}
	files := []string{filepath.Join("models", "ggml-"+size+".bin")}
	cache := os.Getenv("XDG_CACHE_HOME")
	if home, err := os.UserHomeDir(); err == nil && cache == "" {
		cache = filepath.Join(home, ".cache")
	}
	if cache != "" {
		files = append(files, filepath.Join(cache, "whisper", size+".pt"))
	}
	return files
}
