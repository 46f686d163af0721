//go:build linux

package serving

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verity/cmd/internal/cli"
)

// TestBrowser: serve on a terminal of a desktop opens its page, and a second start the page that runs; nothing else
// opens one.
func TestBrowser(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	script := fmt.Sprintf("#!/bin/sh\necho $1 >%s.new && mv %[1]s.new %[1]s\n", opened)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, name := range []string{"SSH_CONNECTION", "WAYLAND_DISPLAY"} {
		t.Setenv(name, "")
	}
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"info": {"title": "Verity"}}`) }))
	defer running.Close()
	for _, tt := range []struct {
		name, display string
		terminal      bool
		args          []string
		page          string // empty if none is opened
	}{
		{"first start", ":0", true, []string{"--listen", "127.0.0.1:0"}, "http://127.0.0.1:"},
		{"second start", ":0", true, []string{"--listen", strings.TrimPrefix(running.URL, "http://")}, running.URL},
		{"no desktop", "", true, []string{"--listen", "127.0.0.1:0"}, ""},
		{"no terminal", ":0", false, []string{"--listen", "127.0.0.1:0"}, ""},
		{"not wanted", ":0", true, []string{"--listen", "127.0.0.1:0", "--no-open"}, ""},
		{"for others", ":0", true, []string{"--listen", ":0", "--api-key-file", "none"}, ""},
	} {
		t.Setenv("DISPLAY", tt.display)
		os.Remove(opened)
		ctx, stop := context.WithCancel(t.Context())
		said := writerFunc(func(b []byte) {
			if bytes.Contains(b, []byte("serving ")) {
				time.AfterFunc(300*time.Millisecond, stop)
			}
		})
		c := Serve(cli.Env{Out: said, Err: said, ErrTerminal: tt.terminal})
		c.SetArgs(append(tt.args, "--model", "../../../model/digits/target"))
		err := c.ExecuteContext(ctx)
		stop()
		page, _ := os.ReadFile(opened)
		for end := time.Now().Add(10 * time.Second); tt.page != "" && len(page) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			page, _ = os.ReadFile(opened)
		}
		if got := string(page); err != nil || !strings.HasPrefix(got, tt.page) || (tt.page == "") != (got == "") {
			t.Errorf("%s: %v, %q was opened, want %q", tt.name, err, got, tt.page)
		}
	}
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }
