//go:build unix

package serve

import (
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"verity/internal/input"
)

// TestTLSOfPipe would wait for ever if a FIFO were opened.
func TestTLSOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cert.pem")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("SKIPPED: no FIFO can be made: %v", err)
	}
	if _, err := TLS(path, path, slog.Default()); !errors.Is(err, input.ErrNotRegular) {
		t.Errorf("got %v, want %v", err, input.ErrNotRegular)
	}
}
