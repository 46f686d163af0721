package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Dataset downloads the missing files of one split of a data set, in the Parquet files that the hub makes of every data set,
// and returns their directory. The name is owner/name, followed by :CONFIG and :SPLIT unless there is only one.
func (c *Client) Dataset(ctx context.Context, name string) (string, error) {
	owner, rest, _ := strings.Cut(name, ":")
	config, split, _ := strings.Cut(rest, ":")
	switch {
	case !repoName.MatchString(owner) || strings.Contains(owner, ".."):
		return "", setError(fmt.Sprintf("%q is not the name of a data set: want owner/name, owner/name:config or owner/name:config:split", name))
	case c.Cache == "":
		return "", fmt.Errorf("%s: %w", name, ErrNoCache)
	case c.Offline:
		return "", fmt.Errorf("%s: %w", name, setError("a data set of the hub needs the network"))
	}
	repo := "datasets/" + owner
	commit, files, err := c.list(ctx, repo, "refs%2Fconvert%2Fparquet")
	if errors.Is(err, ErrNotFound) {
		err = setError("the hub has no such data set, or has not made Parquet files of it")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	dir, err := splitDir(files, config, split)
	for _, f := range files {
		if err == nil && path.Dir(f) == dir {
			err = c.file(ctx, repo, commit, f)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return filepath.Join(c.folder(repo), "snapshots", commit, filepath.FromSlash(dir)), nil
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
