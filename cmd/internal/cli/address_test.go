package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"verity/audio"
)

// TestAddress: sound from a server is read like a file; an error reports what a server answers
// instead.
func TestAddress(t *testing.T) {
	const sound = "../../../model/base/jfk.flac"
	mux := http.NewServeMux()
	mux.HandleFunc("/a/talk.flac", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, sound) })
	mux.Handle("/moved", http.RedirectHandler("/a/talk.flac?x=1", http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html><html>") })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "99")
		io.WriteString(w, "RIFF")
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	want := samples(t, func(s *SoundFlags) (*audio.Clip, error) { return s.Clip(t.Context(), Env{}, sound) })
	for path, problem := range map[string]string{
		"/a/talk.flac": "", "/moved": "",
		"/none": "answers 404", "/round": "stopped after 10 redirects", "/file": `unsupported protocol scheme "file"`,
		"/page": "is a web page", "/cut": "the connection was cut; try again",
	} {
		address := "HTTP" + strings.TrimPrefix(server.URL, "http") + path
		open := func(s *SoundFlags) (*audio.Clip, error) { return s.Clip(t.Context(), Env{}, address) }
		if problem == "" {
			if got := samples(t, open); got != want {
				t.Errorf("%s: %d samples, want %d", path, got, want)
			}
			continue
		}
		if _, err := open(new(SoundFlags)); err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error = %v, want one with the address and %q", path, err, problem)
		}
	}
	secure := "https" + strings.TrimPrefix(server.URL, "http") + "/a/talk.flac"
	if _, err := new(SoundFlags).Clip(t.Context(), Env{}, secure); err == nil || !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		t.Errorf("%s: error = %v", secure, err)
	}
	few := &download{strings.NewReader("abc"), 2, time.NewTimer(time.Hour)}
	if _, err := io.ReadAll(few); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error = %v for what is too large", err)
	}
}

func samples(t *testing.T, open func(*SoundFlags) (*audio.Clip, error)) (n int) {
	clip, err := open(&SoundFlags{Input: audio.Input{FFmpeg: audio.FFmpegNever}})
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	for b := make([]float32, 1<<14); ; {
		m, err := clip.Read(b)
		if n += m; err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
