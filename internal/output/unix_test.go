//go:build unix

package output

import (
	"context"
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
		if err := Write(context.Background(), name, nil, put("x")); err != nil {
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

// TestInterrupted: nobody reads the FIFO, and the program is to end.
func TestInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Skip(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	result := make(chan error)
	go func() { result <- Write(ctx, fifo, nil, put("nothing")) }()
	stop()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "nobody has opened the FIFO") {
		t.Errorf("got %v", err)
	}
}

// TestDirect: devices and FIFOs are written to and stay what they are.
func TestDirect(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if err := Check([]string{fifo, "/dev/null", "/dev/null"}, []string{"/dev/null"}); err != nil {
		t.Error(err)
	}
	if err := Write(context.Background(), fifo, nil, put("through")); err != nil {
		t.Error(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("the FIFO gave %q", s)
	}
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is now %v, %v", info.Mode(), err)
	}
	if err := Write(context.Background(), "/dev/null", nil, put("gone")); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is now %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := Write(context.Background(), "/dev/full", nil, put("x")); err == nil {
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
		if err := Write(context.Background(), name, nil, put("pipe")); err != nil {
			t.Error(err)
		}
		b := make([]byte, 4)
		if _, err := r.Read(b); err != nil || string(b) != "pipe" {
			t.Errorf("the pipe gave %q, %v", b, err)
		}
	}
}

// TestNode makes a device of its own, as root, in a directory where a rename would
// replace it.
func TestNode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "null")
	if err := unix.Mknod(name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skip("a device can be made by root only: ", err)
	}
	if err := Write(context.Background(), name, nil, put("x")); err != nil {
		t.Skip("devices do not work here: ", err)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("the device is now %v, %v", info.Mode(), err)
	}
}

// TestMounted writes a file whose directory takes no new ones.
func TestMounted(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, []byte("old, and longer"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o777)
	if err := Check([]string{name}, nil); err != nil {
		t.Error(err)
	}
	if err := Write(context.Background(), name, nil, put("new")); err != nil || read(t, name) != "new" {
		t.Errorf("%v, %q", err, read(t, name))
	}
	if err := Check([]string{filepath.Join(dir, "b")}, nil); err == nil {
		t.Error("a new file: no error")
	}
}

// TestWithinFIFO: a FIFO without a reader in the place of a file of the program is an
// error at once.
func TestWithinFIFO(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "a"), 0o666); err != nil {
		t.Skip(err)
	}
	_, err := Own(filepath.Join(dir, "a"), os.O_WRONLY)
	for _, err := range []error{err, WriteFile(dir, "a", nil), CheckIn(dir, []string{"a"}, nil)} {
		if err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("got %v", err)
		}
	}
}
