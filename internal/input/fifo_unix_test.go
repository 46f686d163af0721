//go:build unix

package input

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestFIFO would wait for ever if a FIFO were opened.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("needs a FIFO: %v", err)
	}
	if _, err := Open(t.Context(), path); err != ErrNotRegular {
		t.Errorf("got %v, want %v", err, ErrNotRegular)
	}
}
