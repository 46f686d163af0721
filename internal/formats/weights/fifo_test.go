//go:build unix

package weights

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFIFO checks that a FIFO is refused. Opening one waits for a writer, as 1202e18 did
// without end.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("needs a FIFO: ", err)
	}
	if _, err := Open(path, parseFloats); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error = %v", err)
	}
}
