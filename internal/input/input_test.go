package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := Open(ctx, path)
	if err != nil || f.Size() != 3 {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || !bytes.Equal(b, []byte("abc")) {
		t.Errorf("read %q, %v", b, err)
	}
	why := errors.New("enough")
	cancel(why)
	var b [1]byte
	if _, err := f.Read(b[:]); err != why {
		t.Errorf("Read after the end of the context: got %v", err)
	}
	if _, err := f.ReadAt(b[:], 0); err != why {
		t.Errorf("ReadAt after the end of the context: got %v", err)
	}
	if _, err := Open(ctx, path); err != why {
		t.Errorf("Open after the end of the context: got %v", err)
	}
	if _, err := Open(t.Context(), dir); err != ErrNotRegular {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no such file" {
		t.Errorf("nothing there: got %v", err)
	}
}

func TestLines(t *testing.T) {
	var got []string
	for n, line := range Lines([]byte("\ufeff# names\r\n\r\n  a b \n\ufeffc")) {
		got = append(got, fmt.Sprint(n, line))
	}
	if want := []string{"3a b", "4\ufeffc"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLookup: a name is found whether its accents are composed or not.
func TestLookup(t *testing.T) {
	dir := t.TempDir()
	there, asked := filepath.Join(dir, "Cafe\u0301"), filepath.Join(dir, "Caf\u00e9")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Lookup(asked); got != there && got != asked { // a file system may know both
		t.Errorf("got %q, want %q", got, there)
	}
	if _, err := os.Stat(Lookup(asked)); err != nil {
		t.Error(err)
	}
}
