package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/eval/report"
)

// TestListening checks which recordings a page gets, and how.
func TestListening(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	l := newSoundFinder(filepath.Join(dir, "page", "x.html"), true)
	for _, tt := range []struct{ name, audio, want string }{
		{"a small file", write("a.wav", 100), "data:audio/wav;base64,AAAA"},
		{"a large one elsewhere", write("b.wav", embedOne+1), ""},
		{"a large one below the page", write("page/in/c d.flac", embedOne+1), "./in/c%20d.flac#t=1.500,3.500"},
		{"no sound", write("page/secret.txt", 10), ""},
		{"a directory", dir, ""},
		{"nothing", filepath.Join(dir, "absent.wav"), ""},
	} {
		r := &report.Record{Audio: tt.audio, Duration: 2}
		if strings.Contains(tt.want, "#") {
			r.Offset = 1.5
		}
		if got := l.url(r); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %.40q, want %q", tt.name, got, tt.want)
		}
	}
	// All that are embedded have a limit, too.
	l.left = 99
	if got := l.url(&report.Record{Audio: filepath.Join(dir, "a.wav")}); got != "" {
		t.Errorf("above the limit: %.40q", got)
	}
}

// TestListeningForeign checks that records from elsewhere bring no file into a page that
// does not lie below it, by whatever name.
func TestListeningForeign(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page")
	if err := os.MkdirAll(page, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.wav", "page/own.wav"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret.wav"), filepath.Join(page, "link.wav")); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	for _, tt := range []struct {
		audio string
		want  bool
	}{
		{filepath.Join(page, "own.wav"), true},
		{filepath.Join(dir, "secret.wav"), false},
		{page + "/../secret.wav", false},
		{filepath.Join(page, "link.wav"), false},
	} {
		l := newSoundFinder(filepath.Join(page, "x.html"), false)
		got := l.url(&report.Record{Audio: tt.audio, Duration: 2})
		if embedded := strings.HasPrefix(got, "data:"); embedded != tt.want {
			t.Errorf("%s: embedded: %v, want %v", tt.audio, embedded, tt.want)
		}
	}
	l := newSoundFinder("-", false)
	if got := l.url(&report.Record{Audio: filepath.Join(page, "own.wav")}); got != "" {
		t.Errorf("a page on standard output: %.40q", got)
	}
}
