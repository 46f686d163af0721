//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/verity-beam/store"
)

// TestFetchPrivate: nothing is fetched into, nor taken from, a folder that others may have
// planted files in.
func TestFetchPrivate(t *testing.T) {
	dirs, _ := places(t)
	name := store.Join(dirs[1], "a.parquet")
	if err := store.Write(t.Context(), name, []byte("a")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why  string
		make func(dir string) error
		want string // part of the error
	}{
		{"it is not there", func(string) error { return nil }, ""},
		{"our own", func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		{"others can write to it", func(dir string) error { return mkdirMode(dir, 0o777) }, "TMPDIR"},
		{"a group can", func(dir string) error { return mkdirMode(dir, 0o770) }, "TMPDIR"},
		{"a link to our own", func(dir string) error { return os.Symlink(t.TempDir(), dir) }, "TMPDIR"},
		{"a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a directory"},
		{"another user's", func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil || os.Geteuid() != 0 {
				return err
			}
			return os.Chown(dir, 1, 1)
		}, "TMPDIR"},
	} {
		if tt.why == "another user's" && os.Geteuid() != 0 {
			continue // only root can give a folder away
		}
		dir := filepath.Join(t.TempDir(), "cache")
		if err := tt.make(dir); err != nil {
			t.Fatal(err)
		}
		_, err := store.Fetch(t.Context(), dir, []string{name})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.why, err, tt.want)
		}
	}
}

// mkdirMode makes a folder of that mode, whatever the umask.
func mkdirMode(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}
