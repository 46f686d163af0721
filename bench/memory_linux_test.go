package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestForget: behind forget the system has none of a file in memory, so that reading
// it is reading the disk.
func TestForget(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte("verity"), 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(name, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
		t.Skipf("%s lies in memory and nowhere else, or cannot be asked (%v)", name, err)
	}
	held, pages := cached(t, name)
	if held != pages {
		t.Fatalf("the system holds %d of %d pages just written", held, pages)
	}
	if !forget([]string{name}) {
		t.Skip("this system cannot be asked to forget")
	}
	if held, _ := cached(t, name); held > pages/8 { // one in use by others may stay
		t.Errorf("the system still holds %d of %d pages", held, pages)
	}
	if forget([]string{name, name + "none"}) {
		t.Error("a file that is not there was forgotten")
	}
}

// cached returns how many pages of a file are in memory, and how many it has. Mapping
// them does not read them.
func cached(t *testing.T, name string) (held, pages int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	in := make([]byte, (len(m)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0]))); e != 0 {
		t.Fatal(e)
	}
	for _, p := range in {
		held += int(p & 1)
	}
	return held, len(in)
}
