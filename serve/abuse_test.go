package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAbuse: misbehaving clients get at most an error, other clients get their text, and nothing is left over. make
// load does the same for longer.
func TestAbuse(t *testing.T) {
	h, s := newServer(t, Options{Turns: 2, MaxBytes: 1 << 20})
	s.uploads.limit = 8 << 20
	impatient, _ := newServer(t, Options{Timeout: 300 * time.Millisecond})
	address := strings.TrimPrefix(h.URL, "http://")
	post(t, h.URL+transcriptions, wav(t)) // so that what is made once exists
	http.DefaultClient.CloseIdleConnections()
	before := resources()

	var all sync.WaitGroup
	for name, abuse := range abuses(t, h.URL) {
		to := address
		if slices.Contains(pausing, name) {
			to = strings.TrimPrefix(impatient.URL, "http://")
		}
		all.Go(func() {
			if why := abuse(to); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		})
	}
	for range 6 {
		all.Go(func() {
			r, body := post(t, h.URL+transcriptions, wav(t), field{"response_format", "text"})
			if r.StatusCode != 200 || strings.TrimSpace(body) != strings.TrimSpace(want().Text) {
				t.Errorf("a proper request: %s %q", r.Status, body)
			}
		})
	}
	all.Wait()
	settled(t, before)
}

// pausing are the abuses that end with the time of the request.
var pausing = []string{"a body that stops", "a length that is too long", "a chunk that lies"}

// abuses are what clients should not do. Each returns what is wrong with the server's answer, or nothing.
func abuses(t *testing.T, url string) map[string]func(address string) string {
	t.Helper()
	good, kind := form(t, wav(t))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n",
		transcriptions, kind, good.Len())
	half := head + "\r\n" + good.String()[:good.Len()/2]
	chunked := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n", transcriptions, kind) +
		"Transfer-Encoding: chunked\r\n\r\n"
	return map[string]func(string) string{
		"a body that stops":      func(a string) string { return raw(a, half, false, "408") },
		"a body that is cut off": func(a string) string { return raw(a, half, true, "400") },
		"another boundary": func(a string) string {
			return raw(a, strings.Replace(head, "boundary=", "boundary=no", 1)+"\r\n"+good.String(), false, "400")
		},
		"a length that is too short": func(a string) string {
			return raw(a, strings.Replace(half, fmt.Sprintf("Length: %d", good.Len()), "Length: 300", 1), false, "400")
		},
		"a length that is too long": func(a string) string {
			return raw(a, strings.Replace(head, "Length: ", "Length: 9", 1)+"\r\n"+good.String()[:good.Len()-10], false, "408")
		},
		"a length of exabytes": func(a string) string {
			return raw(a, strings.Replace(head, "Length: ", "Length: 9000000000000", 1)+"\r\n", false, "413")
		},
		"a chunk that lies": func(a string) string { return raw(a, chunked+"100000\r\nx", false, "408") },
		"a client that is killed": func(string) string {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "POST", url+transcriptions, strings.NewReader(good.String()))
			if err != nil {
				return err.Error()
			}
			r.Header.Set("Content-Type", kind)
			if r, err := http.DefaultClient.Do(r); err == nil {
				r.Body.Close()
			}
			return ""
		},
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestContentEncoding: a compressed body is refused, and not decompressed. A body without a form is read up to the
// limit of size.
func TestContentEncoding(t *testing.T) {
	h, _ := newServer(t, Options{MaxBytes: 1 << 20})
	body, kind := form(t, wav(t))
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	io.Copy(packer, io.LimitReader(zeros{}, 32<<20))
	packer.Close()
	for encoding, status := range map[string]int{"gzip": 415, "br, gzip": 415, "identity": 200} {
		sent := body.Bytes()
		if status != 200 {
			sent = bomb.Bytes()
		}
		got, text := ask(t, "POST", h.URL+transcriptions, bytes.NewReader(sent), "Content-Type", kind, "Content-Encoding", encoding)
		if got.StatusCode != status {
			t.Errorf("%q: %s %s", encoding, got.Status, text)
		}
	}
	got, text := ask(t, "POST", h.URL+transcriptions, io.LimitReader(lines{}, 32<<20), "Content-Type", kind)
	if got.StatusCode != 413 {
		t.Errorf("a preamble without end: %s %s", got.Status, text)
	}
}

// lines is a body without a form.
type lines struct{}

func (lines) Read(b []byte) (int, error) { return copy(b, "not a part of a form\n"), nil }

// raw sends text over a connection, closes its half of the connection if asked, and checks the status of the answer.
// It returns what is wrong.
func raw(address, text string, closeHalf bool, status string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil && status == "" {
		return err.Error()
	}
	if closeHalf {
		c.(*net.TCPConn).CloseWrite()
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	if status != "" && !strings.Contains(line, " "+status+" ") {
		return fmt.Sprintf("answer %q, want %s", line, status)
	}
	return ""
}

// TestUploadsFull: an upload that exceeds the room for all uploads is refused. Later there is room again. A directory that cannot
// be written to is the server's fault.
func TestUploadsFull(t *testing.T) {
	h, s := newServer(t, Options{MaxBytes: 1 << 20})
	s.uploads.limit = 1 << 20
	s.uploads.used.Store(1 << 20)
	r, body := post(t, h.URL+transcriptions, wav(t))
	checkProblem(t, r, body, 429, "file", "try again later")
	s.uploads.used.Store(0)
	if r, body := post(t, h.URL+transcriptions, wav(t)); r.StatusCode != 200 {
		t.Errorf("afterwards: %s %s", r.Status, body)
	}
	s.uploads.dir += "/missing"
	r, body = post(t, h.URL+transcriptions, wav(t))
	checkProblem(t, r, body, 507, "", "cannot be kept")
}

// used counts resources of the process.
type used struct{ goroutines, files int }

func resources() used {
	files, _ := os.ReadDir("/proc/self/fd")
	return used{runtime.NumGoroutine(), len(files)}
}

// settled waits until the process uses no more than before.
func settled(t *testing.T, before used) {
	t.Helper()
	var now used
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		http.DefaultClient.CloseIdleConnections()
		if now = resources(); now.goroutines <= before.goroutines && now.files <= before.files {
			return
		}
	}
	t.Errorf("%+v, before %+v", now, before)
}
