//go:build unix

package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFIFO puts a FIFO, or a link to one, where each kind of dataset has a file. To open
// it would wait for ever.
func TestFIFO(t *testing.T) {
	root := t.TempDir()
	fifo := filepath.Join(root, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("needs a FIFO: %v", err)
	}
	if _, err := Open(t.Context(), fifo, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Open: got %v", err)
	}
	for _, name := range []string{"manifest.jsonl", "m.tsv", "a.parquet", "a.trans.txt", "a.txt", "a.wav"} {
		dir := filepath.Join(root, "of "+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"a.wav", "a.txt"} { // a folder of sound needs both
			if err := os.WriteFile(filepath.Join(dir, other), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(fifo, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		broken := 0
		for _, err := range d.All(t.Context()) {
			if err == nil || !strings.Contains(err.Error(), "not a regular file") && !strings.Contains(err.Error(), "without a transcript") {
				t.Errorf("%s: got %v", name, err)
			}
			broken++
		}
		if broken == 0 {
			t.Errorf("%s: no row says what is wrong", name)
		}
	}
}
