//go:build unix

package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"verity/model"
)

// TestFIFO checks that a FIFO is refused. Opening one waits for a writer, as 1202e18 did
// without end.
func TestFIFO(t *testing.T) {
	for _, file := range []string{"config.json", "generation_config.json", "preprocessor_config.json", "model.safetensors"} {
		dir := onDisk(t)
		os.Remove(filepath.Join(dir, file))
		if err := unix.Mkfifo(filepath.Join(dir, file), 0o600); err != nil {
			t.Skip("needs a FIFO: ", err)
		}
		_, err := model.Open(t.Context(), dir)
		if err == nil || !strings.Contains(err.Error(), "not a regular file") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error = %v", file, err)
		}
	}
}
