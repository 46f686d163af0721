package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/report"
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
	l := newListening(filepath.Join(dir, "page", "x.html"))
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
