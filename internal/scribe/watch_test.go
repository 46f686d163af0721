package scribe

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/internal/command"
)

// TestWatch: a file is taken once, when it is whole, and again only if it has failed and
// changes.
func TestWatch(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	var said bytes.Buffer
	begin := func() *watchCommand {
		w := &watchCommand{transcribeCommand: transcribeCommand{Env: command.Env{Err: &said}}, calm: 5 * time.Second}
		w.root, w.dir, w.deep, w.seen, w.told = in, out, true, map[string]sight{}, map[string]bool{}
		return w
	}
	w, now := begin(), time.Now()
	write := func(dir, name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func(why string, seconds float64, want ...string) {
		t.Helper()
		now = now.Add(time.Duration(seconds * float64(time.Second)))
		var got []string
		for _, name := range w.look(now) {
			below, _ := filepath.Rel(in, name)
			got = append(got, filepath.ToSlash(below))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
	write(in, "a.wav", "1")
	write(in, "empty.wav", "")
	write(in, ".part.wav", "1")
	write(in, "notes.txt", "1")
	look("just seen", 0)
	look("too soon", 4)
	write(in, "a.wav", "12")
	look("it grows", 2)
	write(in, "deep/b.flac", "1")
	look("too soon after it has grown", 4)
	look("whole", 1.5, "a.wav")
	w.settle([]string{filepath.Join(in, "a.wav")}) // no output
	look("it has failed; the other is whole", 4, "deep/b.flac")
	write(out, "deep/b.txt", "done")
	w.settle([]string{filepath.Join(in, "deep", "b.flac")})
	look("nothing to do", 100)
	write(in, "a.wav", "123")
	look("it has changed", 0)
	look("whole again", 6, "a.wav")

	w = begin() // a restart
	look("after a restart", 0)
	look("what is not done", 6, "a.wav")
	write(in, "a.mp3", "1")
	look("one of the same name", 0)
	look("its first by name is taken", 6, "a.mp3")
	look("told once", 1, "a.mp3")
	if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "a.wav: its text would go where that of") {
		t.Errorf("said %q", text)
	}
}
