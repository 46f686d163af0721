// Package store reads and writes files by name, wherever Beam's filesystems reach: here,
// or in an object store (gs://, s3://).
//
//	pattern → [List] → names → [Fetch] → a file here
//	bytes → [Write] → whole, or not there at all
package store

import (
	"bytes"
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

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"

	"verity/internal/output"
)

// Remote reports whether a name is one of an object store.
func Remote(name string) bool { return strings.Contains(name, "://") }

// Pattern reports whether a name has wildcards. A file or folder of that very name goes
// before them.
func Pattern(name string) bool {
	if !strings.ContainsAny(name, "*?[") {
		return false
	}
	_, err := os.Stat(name)
	return err != nil
}

// Join returns the name of a file in a folder.
func Join(dir string, elements ...string) string {
	if Remote(dir) {
		return strings.TrimSuffix(dir, "/") + "/" + path.Join(elements...)
	}
	return filepath.Join(append([]string{dir}, elements...)...)
}

// open returns the filesystem of a name.
func open(ctx context.Context, name string) (filesystem.Interface, error) {
	f, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// List returns the names that match a pattern, sorted. None is an error.
func List(ctx context.Context, pattern string) ([]string, error) {
	f, err := open(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.List(ctx, pattern)
	if err == nil && len(names) == 0 {
		err = errors.New("no file matches")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	slices.Sort(names)
	return names, nil
}

// Read returns what a file holds; nil without an error if it is not there.
func Read(ctx context.Context, name string) ([]byte, error) {
	f, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if Remote(name) {
		// What an object store says of a missing object differs from one to the next.
		if found, err := f.List(ctx, name); err != nil || len(found) == 0 {
			return nil, err
		}
	}
	r, err := f.OpenRead(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Write makes a file with this content, or leaves what was there. An object store does
// so itself; here, the file is written beside and renamed.
func Write(ctx context.Context, name string, content []byte) error {
	if !Remote(name) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return output.Write(name, io.Discard, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	}
	f, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := f.OpenWrite(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err = io.Copy(w, bytes.NewReader(content)); err != nil {
		// Closing would commit half a file: end the connection instead.
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Fetch copies files of an object store into a folder here, under their last names, and
// returns where they are. Files here are returned as they are.
func Fetch(ctx context.Context, dir string, names []string) ([]string, error) {
	local := make([]string, len(names))
	seen := map[string]string{}
	for i, name := range names {
		if local[i] = name; !Remote(name) {
			continue
		}
		base := path.Base(name)
		if other, twice := seen[base]; twice {
			return nil, fmt.Errorf("%s and %s: two files of one name; give them names that differ", other, name)
		}
		seen[base] = name
		local[i] = filepath.Join(dir, base)
		if err := fetch(ctx, name, local[i]); err != nil {
			return nil, err
		}
	}
	return local, nil
}

// fetch copies one file, unless it is there already: written whole or not at all.
func fetch(ctx context.Context, name, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	f, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := f.OpenRead(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	return output.Write(to, io.Discard, func(w io.Writer) error {
		if _, err := io.Copy(w, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}
