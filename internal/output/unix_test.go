//go:build unix

package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUmask: a new file has the mode that the umask gives, an old one keeps its own.
func TestUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	mode := func() os.FileMode {
		t.Helper()
		if err := Write(name, nil, put("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if m := mode(); m != 0o600 {
		t.Errorf("new file: mode %o, want 600", m)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if m := mode(); m != 0o640 {
		t.Errorf("old file: mode %o, want 640", m)
	}
}

// TestDirect: devices and FIFOs are written to and stay what they are. A FIFO that nobody
// reads is an error at once.
func TestDirect(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Skip("needs a FIFO: ", err)
	}
	if err := Write(fifo, nil, put("unheard")); err == nil {
		t.Error("a FIFO without a reader was written to")
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, name := range []string{fifo, "/dev/null"} {
		if err := Check(name); err != nil {
			t.Error(err)
		}
	}
	if err := Write(fifo, nil, put("through")); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(reader); string(b) != "through" || err != nil {
		t.Errorf("the FIFO gave %q, %v", b, err)
	}
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is now %v, %v", info.Mode(), err)
	}
	if err := Write("/dev/null", nil, put("gone")); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is now %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := Write("/dev/full", nil, put("x")); err == nil {
			t.Error("a full device: no error")
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(w.Fd())))
	if _, err := os.Stat(name); err == nil {
		if err := Write(name, nil, put("pipe")); err != nil {
			t.Error(err)
		}
		b := make([]byte, 4)
		if _, err := r.Read(b); err != nil || string(b) != "pipe" {
			t.Errorf("the pipe gave %q, %v", b, err)
		}
	}
}

// TestBelow: a link that leads out of the directory that a person named is an error; the
// directory itself may be a link.
func TestBelow(t *testing.T) {
	dir := t.TempDir()
	named, link := filepath.Join(dir, "named"), filepath.Join(dir, "sub")
	if err := errors.Join(os.Symlink(dir, named), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for below, want := range map[string]bool{".": true, "a": true, "a/b": true, "sub": false, "sub/a": false} {
		if got, err := Below(named, below); (err == nil) != want || want && got != filepath.Join(named, below) {
			t.Errorf("%s: %s, %v", below, got, err)
		}
	}
}

// TestOpenFIFO: a FIFO without a reader in the place of a file of the program is an error at once.
func TestOpenFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Skip("needs a FIFO: ", err)
	}
	if _, err := Open(path, os.O_WRONLY); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("got %v", err)
	}
}
