package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"verity/internal/input"
	"verity/internal/output"
)

// Dataset downloads the missing files of one split of a data set, in the Parquet files that the hub makes of every data set,
// and returns their directory. The name is owner/name, followed by :CONFIG and :SPLIT unless there is only one. Offline, all
// files of the split must be in the cache.
func (c *Client) Dataset(ctx context.Context, name string) (string, error) {
	owner, rest, _ := strings.Cut(name, ":")
	config, split, _ := strings.Cut(rest, ":")
	switch {
	case !repoName.MatchString(owner) || strings.Contains(owner, "..") || strings.Contains(split, ":"):
		return "", setError(fmt.Sprintf("%s is not the name of a data set: want owner/name, owner/name:config or owner/name:config:split", name))
	case c.Cache == "":
		return "", fmt.Errorf("%s: %w", name, ErrNoCache)
	}
	repo := "datasets/" + owner
	if c.Offline {
		dir, err := c.cachedSplit(ctx, repo, config, split)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return dir, err
	}
	commit, files, err := c.list(ctx, repo, "refs%2Fconvert%2Fparquet")
	if errors.Is(err, ErrNotFound) {
		err = setError("the hub has no such data set, or has not made Parquet files of it")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	dir, err := splitDir(files, config, split)
	snapshot := filepath.Join(c.folder(repo), "snapshots", commit)
	if err == nil {
		err = writeList(snapshot, files)
	}
	for _, f := range files {
		if err == nil && path.Dir(f) == dir {
			err = c.file(ctx, repo, commit, f)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return filepath.Join(snapshot, filepath.FromSlash(dir)), nil
}

// listName is the file in a snapshot of a data set with the names of all its files, one a line: without it nobody could tell
// a complete split from one that lacks files.
const listName = ".files"

func writeList(snapshot string, files []string) error {
	if err := os.MkdirAll(snapshot, 0o777); err != nil {
		return err
	}
	return output.Replace(filepath.Join(snapshot, listName), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(files, "\n"))
		return err
	})
}

// cachedSplit returns the directory of a split in the snapshot that was used last of those that have all its files.
func (c *Client) cachedSplit(ctx context.Context, repo, config, split string) (string, error) {
	used := func(snapshot string) (t time.Time) {
		if st, err := os.Stat(filepath.Join(snapshot, listName)); err == nil {
			t = st.ModTime()
		}
		return t
	}
	var first error
	for _, snapshot := range slices.SortedFunc(slices.Values(c.snapshots(repo)), func(a, b string) int { return used(b).Compare(used(a)) }) {
		list, err := input.Read(ctx, filepath.Join(snapshot, listName), 16<<20)
		if err != nil {
			continue
		}
		files := strings.Split(string(list), "\n")
		dir, err := splitDir(files, config, split)
		missing, all := 0, 0
		for _, f := range files {
			if path.Dir(f) == dir {
				all++
				if !isFile(filepath.Join(snapshot, filepath.FromSlash(f))) {
					missing++
				}
			}
		}
		switch {
		case err == nil && missing == 0:
			return filepath.Join(snapshot, filepath.FromSlash(dir)), nil
		case err == nil:
			err = fmt.Errorf("%d of %d files are %w", missing, all, ErrOffline)
		}
		first = cmp.Or(first, err)
	}
	return "", cmp.Or(first, fmt.Errorf("the list of its files is %w", ErrOffline))
}

// A setError says why there is no data set of a name: an ErrNotFound that speaks of no model.
type setError string

func (e setError) Error() string        { return string(e) }
func (e setError) Is(target error) bool { return target == ErrNotFound }

// splitDir returns the directory of the files of a split, CONFIG/SPLIT.
func splitDir(files []string, config, split string) (string, error) {
	var all, found []string
	for _, f := range files {
		dir, name := path.Split(f)
		dir = path.Clean(dir)
		if !strings.HasSuffix(name, ".parquet") || !fs.ValidPath(f) || strings.Count(dir, "/") != 1 || slices.Contains(all, dir) {
			continue
		}
		all = append(all, dir)
		if c, s := path.Split(dir); (config == "" || config+"/" == c) && (split == "" || split == s) {
			found = append(found, dir)
		}
	}
	if len(found) != 1 {
		return "", setError("config and split: want one of " + strings.ReplaceAll(strings.Join(all, ", "), "/", ":"))
	}
	return found[0], nil
}
