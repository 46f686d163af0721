// Package store reads and writes files by name, locally or in an object store (gs://, s3://).
//
//	pattern → [List] → names → [Fetch] → local files
//	bytes → [Write] → a file, whole or not at all
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
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"

	"verity/internal/output"
)

// Remote reports whether a name is in an object store.
func Remote(name string) bool { return strings.Contains(name, "://") }

// Pattern reports whether a name has wildcards and is not itself the name of a file or folder.
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

func open(ctx context.Context, name string) (f filesystem.Interface, err error) {
	defer func() {
		if p := recover(); p != nil { // Beam panics on a profile or credentials it cannot read
			err = fmt.Errorf("%s: %v", name, p)
		}
	}()
	if f, err = filesystem.New(ctx, name); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// special are the characters of patterns.
const special = `*?[\`

// wider returns a pattern whose only wildcard is * and which matches everything that the given one
// does. Beam lists an object store by the text before the first *, other wildcards included, and so
// finds nothing for them.
func wider(pattern string) string {
	at := strings.IndexAny(pattern, special)
	if at < 0 {
		return pattern
	}
	return pattern[:at] + "*" + strings.Repeat("/*", strings.Count(pattern[at:], "/"))
}

// match returns the names that match a pattern. Only Google's store knows **.
func match(ctx context.Context, f filesystem.Interface, pattern string) ([]string, error) {
	if !Remote(pattern) || strings.Contains(pattern, "**") {
		return f.List(ctx, pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	names, err := f.List(ctx, wider(pattern))
	return slices.DeleteFunc(names, func(name string) bool {
		ok, _ := path.Match(pattern, name) // the pattern is valid
		return !ok
	}), err
}

// List returns the names that match a pattern, sorted. None is an error.
func List(ctx context.Context, pattern string) ([]string, error) {
	f, err := open(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := match(ctx, f, pattern)
	if err == nil && len(names) == 0 {
		err = errors.New("no file matches")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	slices.Sort(names)
	return names, nil
}

// Read returns the content of a file, nil without an error if it does not exist.
func Read(ctx context.Context, name string) ([]byte, error) {
	f, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if Remote(name) {
		// Object stores differ in their errors for a missing object.
		found, err := f.List(ctx, wider(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(found, name) {
			return nil, nil
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

// Write writes a file whole or leaves the old one. Object stores do that by themselves; a local
// file gets a temporary name and is renamed.
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // on an error: closing would commit half a file
	w, err := f.OpenWrite(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err = io.Copy(w, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Fetch copies files of an object store into a local folder, under their base names, and returns
// where they are. Local names are returned unchanged. A file that has changed since it was fetched
// is fetched again.
func Fetch(ctx context.Context, dir string, names []string) ([]string, error) {
	local := make([]string, len(names))
	seen := map[string]string{}
	for i, name := range names {
		if local[i] = name; !Remote(name) {
			continue
		}
		base := path.Base(name)
		if other, twice := seen[base]; twice {
			return nil, fmt.Errorf("%s and %s: two files with the same base name: rename one", other, name)
		}
		seen[base] = name
		local[i] = filepath.Join(dir, base)
		if err := fetch(ctx, name, local[i]); err != nil {
			return nil, err
		}
	}
	return local, nil
}

// fetching holds a lock for each file, so that a process fetches it only once.
var fetching sync.Map

// fetch copies one file, whole or not at all, unless the local copy has the size and date of the
// one in the store.
func fetch(ctx context.Context, name, to string) error {
	lock, _ := fetching.LoadOrStore(to, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var date time.Time
	if d, ok := f.(filesystem.LastModifiedGetter); ok {
		if date, err = d.LastModified(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	info, err := os.Stat(to)
	if err == nil && info.Size() == size && info.ModTime().Truncate(time.Second).Equal(date.Truncate(time.Second)) {
		return nil
	}
	r, err := f.OpenRead(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	err = output.Write(to, io.Discard, func(w io.Writer) error {
		if _, err := io.Copy(w, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.Chtimes(to, date, date)
}
