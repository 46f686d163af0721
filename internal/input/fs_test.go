package input

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFS(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(dir)
	if b, err := ReadFS(fsys, "a", 5); err != nil || string(b) != "12345" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFS(fsys, "a", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error = %v, want ErrTooLarge", err)
	}
	if _, err := ReadFS(fsys, "none", 5); !errors.Is(err, fs.ErrNotExist) || Exists(fsys, "none") {
		t.Errorf("error = %v, want ErrNotExist", err)
	}
	if _, err := ReadFS(fsys, ".", 5); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error = %v for a directory", err)
	}
	if err := os.Symlink("../../blobs/abc", filepath.Join(dir, "link")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	_, err := ReadFS(fsys, "link", 5)
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "blobs/abc") || !Exists(fsys, "link") {
		t.Errorf("error = %v for a link that leads nowhere", err)
	}
}
