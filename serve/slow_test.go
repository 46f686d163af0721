package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"verity/audio"
)

// TestRefusedEarly: a client that sends all of a large body before it reads gets the answer, not a reset connection.
func TestRefusedEarly(t *testing.T) {
	h, _ := newServer(t, Options{})
	c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const size = 20 << 20
	form := "--B\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\nnone\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n"
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=B\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		transcriptions, len(form)+size, form)
	piece := make([]byte, 1<<20)
	for n := 0; n < size && err == nil; n += len(piece) {
		_, err = c.Write(piece)
		time.Sleep(50 * time.Millisecond) // in all, longer than net/http waits before it closes
	}
	if err != nil {
		t.Errorf("the body is not read: %v", err)
	}
	if answer, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(answer, "HTTP/1.1 400") {
		t.Errorf("%q, %v, want 400", answer, err)
	}
}

// TestRefusedFirst: a refusal that does not depend on the body does not wait for it.
func TestRefusedFirst(t *testing.T) {
	const head, form = "POST " + transcriptions + " HTTP/1.1\r\n", "Content-Type: multipart/form-data; boundary=B\r\n"
	for why, tt := range map[string]struct {
		o             Options
		prepare       func(t *testing.T, s *Server)
		request, want string
	}{
		"no key":          {Options{Keys: keys("k")}, nil, head + "Host: localhost\r\n" + form, "401"},
		"a foreign page":  {Options{}, nil, head + "Host: localhost\r\nOrigin: http://evil.example\r\n" + form, "403"},
		"an unknown path": {Options{}, nil, "POST /v1/none HTTP/1.1\r\nHost: localhost\r\n", "404"},
		"no form":         {Options{}, nil, head + "Host: localhost\r\n", "400"},
		"too large": {
			Options{MaxBytes: 1}, nil, head + "Host: localhost\r\nContent-Length: 99999999\r\n" + form, "413",
		},
		"a full queue": {Options{Turns: 1, Waiting: -1}, func(t *testing.T, s *Server) { t.Cleanup(occupy(t, s)) },
			head + "Host: localhost\r\n" + form, "429"},
		"shutdown": {
			Options{}, func(_ *testing.T, s *Server) { s.Drain() }, head + "Host: localhost\r\n" + form, "503",
		},
	} {
		t.Run(why, func(t *testing.T) {
			h, s := newServer(t, tt.o)
			if tt.prepare != nil {
				tt.prepare(t, s)
			}
			body := "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
			if strings.Contains(tt.request, "Length") {
				body = "\r\n"
			}
			if got := raw(strings.TrimPrefix(h.URL, "http://"), tt.request+body, false, tt.want); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestSlowStrangers: without a key, a client that sends half of a body cannot hold a connection for ever.
func TestSlowStrangers(t *testing.T) {
	h, s := newServer(t, Options{Keys: keys("secret")})
	s.stall = 50 * time.Millisecond
	for name, send := range map[string]string{
		"half a body": "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\nx",
		"half a body, later": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" +
			"PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			go io.WriteString(c, send)
			if b, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) { // the answer alone does not end the connection
				t.Errorf("%q, and the connection stays", b)
			}
		})
	}
}

// TestSlowCrowd: many slow uploads do not keep a fast one from its text.
func TestSlowCrowd(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1, Waiting: 8})
	const slow = 200 // more than can be in the queue
	body, kind := form(t, wav(t))
	for range slow {
		c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			transcriptions, kind, body.Len(), body.Bytes()[:300])
	}
	for began := time.Now(); s.inProgress.Load() != slow; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%d uploads, want %d", s.inProgress.Load(), slow)
		}
	}
	if s.queue.waiting() != 0 {
		t.Errorf("%d requests wait, though none has been received", s.queue.waiting())
	}
	for range 3 {
		if r, body := post(t, h.URL+transcriptions, wav(t)); r.StatusCode != 200 {
			t.Errorf("%s %s", r.Status, body)
		}
	}
}

// TestUploadUnlinked: on systems that allow it, an upload has no name, so nothing is left if the process is killed.
func TestUploadUnlinked(t *testing.T) {
	dir := t.TempDir()
	s := &uploadStore{dir: dir, limit: 1}
	f, err := s.create(10)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("%s has a name while it is open", left[0].Name())
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	f.remove()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNoZombies: ffmpeg ends with its request, however that ends.
func TestNoZombies(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs ffmpeg: and Linux")
	}
	file := foreign(t, "talk.m4a")
	before := children(t)
	for name, tt := range map[string]struct {
		o      Options
		fields []field
		status int
	}{
		"a whole file": {Options{}, nil, 200},
		"a bad option": {Options{}, []field{{"language", "de"}}, 400},
		"too long":     {Options{MaxAudio: time.Second}, nil, 413},
	} {
		o := tt.o
		o.Sound = audio.Input{FFmpeg: audio.FFmpegAuto}
		h, _ := newServer(t, o)
		for range 3 {
			if r, body := post(t, h.URL+transcriptions, append(tt.fields, file)...); r.StatusCode != tt.status {
				t.Errorf("%s: %s %s", name, r.Status, body)
			}
		}
		began := time.Now()
		for children(t) != before && time.Since(began) < patience {
			time.Sleep(time.Millisecond)
		}
		if now := children(t); now != before {
			t.Errorf("%s: %d children, before %d", name, now, before)
		}
	}
}

// children counts the child processes of this one, zombies included.
func children(t *testing.T) (n int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			n++
		}
	}
	return n
}

// TestSlowReader: a client that does not read its stream holds a connection, but no turn.
func TestSlowReader(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	block := make(chan struct{})
	w := &blocked{header: http.Header{}, until: block}
	x := s.newStream(w, cancel, func() string { return "waiting" })
	for range 1000 { // blocks for ever if an event waits for the client
		x.event("transcript.text.delta", object{"delta": strings.Repeat("x", 1000)})
	}
	if ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
	for range 20 {
		x.event("", object{"delta": strings.Repeat("x", maxPending/10)})
	}
	if !errors.Is(context.Cause(ctx), errUnread) {
		t.Errorf("the stream buffers more than %d bytes", maxPending)
	}
	close(block)
	x.end()
	if r, _ := post(t, h.URL+transcriptions, wav(t), field{"stream", "true"}); r.StatusCode != 200 {
		t.Error(r.Status)
	}
}

// blocked is a client that does not read.
type blocked struct {
	header http.Header
	until  chan struct{}
}

func (b *blocked) Header() http.Header { return b.header }
func (b *blocked) WriteHeader(int)     {}
func (b *blocked) Write(data []byte) (int, error) {
	<-b.until
	return len(data), nil
}
