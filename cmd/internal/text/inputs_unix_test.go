//go:build unix

package text

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestSoundInSpecial: FIFOs, sockets and devices in a directory are skipped, not waited for.
func TestSoundInSpecial(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := syscall.Mkfifo("fifo.wav", 0o600); err != nil {
		t.Skip("needs a FIFO: ", err)
	}
	if l, err := net.Listen("unix", "socket.wav"); err == nil {
		defer l.Close()
	}
	for to, from := range map[string]string{"/dev/zero": "device.wav", "fifo.wav": "link.wav", "gone": "gone.wav"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("a.wav", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := soundIn(dir, false)
	if want := []string{filepath.Join(dir, "a.wav"), filepath.Join(dir, "gone.wav")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
