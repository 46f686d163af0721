package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/internal/input"
)

// Errors of this package, for errors.Is.
var (
	ErrDownload = errors.New("cannot be downloaded") // the cause is beside it
	ErrOffline  = errors.New("not in the cache, and the network is not to be used")
	ErrNotFound = errors.New("the hub has no such model")
	ErrToken    = errors.New("the hub requires a token")
	ErrDamaged  = errors.New("the download is damaged")
	ErrAnswer   = errors.New("the hub's answer is odd")
	ErrNoCache  = errors.New("there is no directory for downloads: set HOME, or HF_HOME to a directory of yours")
)

// folder returns the directory of a model, owner/name, or of a data set, datasets/owner/name.
func (c *Client) folder(repo string) string {
	if strings.Count(repo, "/") == 1 {
		repo = "models/" + repo
	}
	return filepath.Join(c.Cache, strings.ReplaceAll(repo, "/", "--"))
}

// Find returns the directory of a model whose files are all in the cache: of the
// repository itself, or of the same weights for CTranslate2.
func (c *Client) Find(name string) (dir string, ok bool) {
	repo, ok := Repo(name)
	if !ok || c.Cache == "" {
		return "", false
	}
	for _, r := range append([]string{repo}, also(repo)...) {
		if dir := c.complete(r); dir != "" {
			return dir, true
		}
	}
	return "", false
}

// snapshots returns the directories of a repository, that of main first.
func (c *Client) snapshots(repo string) (dirs []string) {
	at := filepath.Join(c.folder(repo), "snapshots")
	if commit, err := input.Read(context.Background(), filepath.Join(c.folder(repo), "refs", "main"), 100); err == nil {
		dirs = append(dirs, filepath.Join(at, filepath.Base(strings.TrimSpace(string(commit)))))
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return dirs
	}
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(at, e.Name()))
	}
	return dirs
}

// whole reports whether a directory has all files of a checkpoint.
func whole(dir string) bool {
	has := func(name string) bool { return isFile(filepath.Join(dir, name)) }
	if !has("config.json") {
		return false
	}
	if has("model.safetensors") || has("model.bin") {
		return true
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	b, err := input.Read(context.Background(), filepath.Join(dir, "model.safetensors.index.json"), 16<<20)
	if err != nil || json.Unmarshal(b, &index) != nil || len(index.Files) == 0 {
		return false
	}
	for _, name := range index.Files {
		if !has(name) {
			return false
		}
	}
	return true
}

// complete returns the first directory of a repository that has all files; "" if none has.
func (c *Client) complete(repo string) string {
	dirs := c.snapshots(repo)
	if i := slices.IndexFunc(dirs, whole); i >= 0 {
		return dirs[i]
	}
	return ""
}

// An Entry is a model in the cache.
type Entry struct {
	Repo  string
	Dir   string // the snapshot; "" if it is not complete
	Bytes int64  // of all its blobs, incomplete ones included
}

// List returns the Whisper models in the cache, by name.
func (c *Client) List() ([]Entry, error) {
	if c.Cache == "" {
		return nil, ErrNoCache
	}
	entries, err := os.ReadDir(c.Cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), "models--")
		owner, rest, split := strings.Cut(name, "--")
		if !ok || !split || !strings.Contains(strings.ToLower(name), "whisper") {
			continue
		}
		repo := owner + "/" + rest
		list = append(list, Entry{repo, c.complete(repo), size(filepath.Join(c.Cache, e.Name()))})
	}
	return list, nil
}

// size returns the bytes of the regular files below a directory.
func size(dir string) (n int64) {
	// What cannot be read is not counted: the size is only shown.
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// Remove deletes a model from the cache and returns the bytes that it took.
func (c *Client) Remove(name string) (int64, error) {
	repo, ok := Repo(name)
	if !ok {
		return 0, fmt.Errorf("%q is not the name of a model: want owner/name or a size such as small", name)
	}
	if c.Cache == "" {
		return 0, ErrNoCache
	}
	at := c.folder(repo)
	switch _, err := os.Stat(at); {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("%s is not in the cache %s: %w", repo, c.Cache, fs.ErrNotExist)
	case err != nil:
		return 0, err
	}
	n := size(at)
	// Locks that stay are empty files, which do no harm.
	os.RemoveAll(filepath.Join(c.Cache, ".locks", filepath.Base(at)))
	return n, os.RemoveAll(at)
}
