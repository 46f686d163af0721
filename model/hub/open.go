package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"verity/model"
	"verity/wer"
)

// Open opens the model that a name stands for. That is, in this order,
//   - a model of the program: see model.Embed. A directory of that name is opened as ./NAME;
//   - a file or a directory, in any form that model.Open reads;
//   - a published model that is in the cache, or that openai/whisper or whisper.cpp has
//     downloaded;
//   - a published model that has to be downloaded, unless the client is Offline.
//
// A name owner/name is a path, and never downloaded, where owner is a directory here or models, whisper.cpp's directory.
//
// The error of a name that is nothing of all this is a *[NameError].
func (c *Client) Open(ctx context.Context, name string) (*model.Checkpoint, error) {
	if m, ok := model.EmbeddedModel(name); ok {
		return model.OpenFS(m.Files, name)
	}
	path, err := c.locate(ctx, name)
	if err != nil && name == "base" && ctx.Err() == nil {
		return nil, fmt.Errorf(`%w; import _ "verity/model/base" builds it into a Go program`, err)
	}
	if err != nil {
		return nil, err
	}
	return model.Open(ctx, path)
}

// OpenAssistant opens the model that drafts: of a model of the program with an assistant,
// that assistant, and of any other name what Open opens.
func (c *Client) OpenAssistant(ctx context.Context, name string) (*model.Checkpoint, error) {
	if m, ok := model.EmbeddedModel(name); ok && m.Assistant != nil {
		return model.OpenFS(m.Assistant, name+" assistant")
	}
	return c.Open(ctx, name)
}

// Assistant returns the name that OpenAssistant opens the best assistant of a model by,
// without a download: a model of the program has its own, and published models have
// partners, which may be in the cache. It is empty if there is none.
func (c *Client) Assistant(name string) string {
	if m, ok := model.EmbeddedModel(name); ok && m.Assistant != nil {
		return name
	}
	repo, ok := Repo(name)
	for _, p := range Partners(repo) {
		if _, found := c.Find(p); ok && found {
			return p
		}
	}
	return ""
}

// locate returns the file or the directory of a model outside the program.
func (c *Client) locate(ctx context.Context, name string) (string, error) {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return name, nil // opening it will report what is wrong with it
	}
	repo, ok := Repo(name)
	if !ok || isWeights(name) {
		return "", &NameError{Name: name}
	}
	if dir, ok := c.Find(name); ok {
		return dir, nil
	}
	for _, file := range foreignFiles(repo) {
		if isFile(file) {
			return file, nil
		}
	}
	if owner, _, _ := strings.Cut(repo, "/"); repo == name && isLocal(owner) {
		return "", &NameError{name, owner}
	}
	if !c.Offline && c.Cache != "" {
		c.notify("downloading %s to %s", repo, c.Cache)
	}
	dir, err := c.Pull(ctx, name)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrOffline):
		err = fmt.Errorf("model %s: %w", name, ErrOffline)
	default:
		err = fmt.Errorf("model %s: not in the cache, and %w: %w", name, ErrDownload, err)
	}
	return dir, err
}

// isWeights reports whether a name ends like a file of weights: it is a path, not the name of a repository.
func isWeights(name string) bool {
	return slices.Contains([]string{".bin", ".pt", ".safetensors", ".gguf", ".onnx"}, strings.ToLower(path.Ext(name)))
}

// isLocal reports whether owner in owner/name is a directory rather than an owner of models on the hub.
func isLocal(owner string) bool {
	info, err := os.Stat(owner)
	return owner == foreignDir || err == nil && info.IsDir()
}

// foreignDir is where whisper.cpp stores models.
const foreignDir = "models"

// foreignFiles returns where openai/whisper and whisper.cpp store the weights of a published
// model: the former in its cache, the latter in the directory models.
func foreignFiles(repo string) []string {
	size, ok := strings.CutPrefix(repo, "openai/whisper-")
	if !ok {
		return nil
	}
	if size == "large" {
		size = "large-v1"
	}
	files := []string{filepath.Join(foreignDir, "ggml-"+size+".bin")}
	if dir := within(userCache(), "whisper"); dir != "" {
		files = append(files, filepath.Join(dir, size+".pt"))
	}
	return files
}

// AllNames returns the names that Open knows, sorted: those of the models of the program and
// the short names of published ones.
func AllNames() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(model.EmbeddedNames(), Names()))))
}

// A NameError reports a name that is no file, no directory, and no name of a model.
type NameError struct {
	Name string
	Dir  string // the directory that makes owner/name a path; empty if Name has another form
}

func (e *NameError) Error() string {
	text := fmt.Sprintf("model %s: there is no such directory or file", cmp.Or(e.Name, `""`))
	known := filepath.Base(e.Name)
	if isWeights(known) { // models/ggml-small.en-q5_1.bin stands for small.en
		known = strings.TrimSuffix(known, path.Ext(known))
	}
	for _, prefix := range []string{"ggml-", "faster-", "whisper-", "openai-whisper-"} {
		known = strings.TrimPrefix(known, prefix)
	}
	known, _, _ = strings.Cut(known, "-q")
	if size, language, ok := strings.Cut(known, "."); ok && len(language) == 2 && language != "en" {
		known = size // only English has models of its own
	}
	_, embedded := model.EmbeddedModel(known)
	switch near := wer.Nearest(known, AllNames()); {
	case embedded && isWeights(e.Name):
		return text + "; use the name " + known + ": that model is built in"
	case slices.Contains(near, known) && isWeights(e.Name):
		return text + "; use the name " + known + ": Verity downloads that model"
	case len(near) > 0:
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if filepath.IsAbs(e.Name) {
		return text // no name
	}
	if e.Dir != "" {
		return text + "; owner/name is a path, not a published model, where owner is a directory, or models"
	}
	return text + "; want the path of a checkpoint, or a published model: tiny, base, small, medium, large-v3, turbo, one of them " +
		"with .en for English alone, or owner/name"
}

// Is reports whether target is fs.ErrNotExist.
func (e *NameError) Is(target error) bool { return target == fs.ErrNotExist }
