//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"verity/cmd/internal/cli"
	"verity/transcript"
)

// TestTermination sends SIGTERM to the server while some clients wait for their text and others
// are still uploading. Each gets the same answer as from verity transcribe, new requests get 503,
// and the program ends without an error.
func TestTermination(t *testing.T) {
	const clients = 8
	sound, err := os.ReadFile("../../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	server, address := startServer(t)
	want := plainTranscript(t)
	url := "http://" + address
	rest := make(chan struct{}) // half of the clients keep the end of their upload until it closes
	type result struct {
		got *transcript.Transcript
		err error
	}
	results := make(chan result, clients)
	var sent sync.WaitGroup // all but the end of every upload
	sent.Add(clients)
	for i := range clients {
		hold := rest
		if i%2 == 0 {
			hold = nil
		}
		go func() {
			got, err := upload(url, sound, &sent, hold)
			results <- result{got, err}
		}()
	}
	sent.Wait()
	waitUntil(t, "every whole request is accepted", func() bool { return len(results)+accepted(url) == clients/2 })
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "new requests are sent elsewhere", func() bool {
		r, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusServiceUnavailable
	})
	close(rest)
	for range clients {
		r := <-results
		if r.err != nil {
			t.Errorf("a request that was accepted is lost: %v", r.err)
			continue
		}
		same(t, r.got, want)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// TestUnixSocket: the server listens on a unix socket, replaces one that a killed server has left, and leaves none. It
// does not replace a file, or the socket of another server.
func TestUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "verity") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	c := serverCommand(t, "--listen", "unix:"+path, "--log-format", "json")
	var line struct{ Msg, Address string }
	if text := start(t, c); json.Unmarshal([]byte(text), &line) != nil || line.Msg != "serving" || line.Address != "unix:"+path {
		t.Errorf("the server writes %q", text)
	}
	waitUntil(t, "the server is ready", func() bool { return unixStatus(path) == 200 })
	for _, tt := range []struct {
		name   string
		status int
		says   string
	}{{path, 1, "another program listens there"}, {"main.go", 2, "there is a file"}} {
		code, _, stderr := program(t, nil, "serve", "--model", "nowhere", "--listen", "unix:"+tt.name)
		if code != tt.status || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", tt.name, code, stderr, tt.status, tt.says)
		}
	}
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left over")
	}
}

// unixStatus returns the status of /readyz over a unix socket; 0 if there is no answer.
func unixStatus(path string) int {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
	r, err := client.Get("http://verity/readyz")
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

// TestHangup: SIGHUP makes new keys valid, and revokes old ones, without ending the server.
func TestHangup(t *testing.T) {
	// Under nohup the server would ignore SIGHUP, too; a signal that is caught here has its default there.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	keys := filepath.Join(t.TempDir(), "keys")
	write := func(key string) {
		if err := os.WriteFile(keys, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old # kitchen")
	server, address := startServer(t, "--api-key-file", keys)
	status := func(key string) int {
		r, err := http.NewRequest("GET", "http://"+address+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	waitUntil(t, "the first key is valid", func() bool { return status("old") == 200 })
	write("new")
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the new key is valid", func() bool { return status("new") == 200 })
	if got := status("old"); got != 401 {
		t.Errorf("the old key: %d", got)
	}
}

// startServer runs the program and returns the address it listens on.
func startServer(t *testing.T, flags ...string) (*exec.Cmd, string) {
	t.Helper()
	c := serverCommand(t, append([]string{"--listen", "127.0.0.1:0"}, flags...)...)
	line := start(t, c)
	_, address, ok := strings.Cut(line, "http://")
	if !ok {
		t.Fatalf("the server writes %q", line)
	}
	return c, address
}

// serverCommand returns the command that serves the small model.
func serverCommand(t *testing.T, flags ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "verity") // the name makes the test binary the program
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--model", "../../model/digits/target", "--batch", "2", "--threads", "1"}
	return exec.Command(program, append(args, flags...)...)
}

// start starts a server and returns the first line that it writes.
func start(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() }) // does nothing where it has ended
	in := bufio.NewReader(log)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("the server writes %q, %v", line, err)
	}
	go io.Copy(io.Discard, in)
	return strings.TrimSpace(line)
}

// plainTranscript is what verity transcribe says of the recording.
func plainTranscript(t *testing.T) *transcript.Transcript {
	t.Helper()
	var out, problem bytes.Buffer
	args := []string{"transcribe", "--model", "../../model/digits/target", "--output-format", "json", "../../model/digits/digits.wav"}
	if code := run(t.Context(), cli.Env{Out: &out, Err: &problem}, args); code != 0 {
		t.Fatal(problem.String())
	}
	tr := new(transcript.Transcript)
	if err := json.Unmarshal(out.Bytes(), tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// upload sends a recording, the last byte, after sent, only when hold is closed.
func upload(url string, sound []byte, sent *sync.WaitGroup, hold chan struct{}) (*transcript.Transcript, error) {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		form.WriteField("response_format", "verbose_json")
		part, _ := form.CreateFormFile("file", "digits.wav")
		part.Write(sound[:len(sound)-1])
		sent.Done()
		if hold != nil {
			<-hold
		}
		part.Write(sound[len(sound)-1:])
		form.Close()
		to.Close()
	}()
	q, err := http.NewRequest("POST", url+"/v1/audio/transcriptions", from)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", form.FormDataContentType())
	q.Header.Set("Expect", "100-continue") // the body is sent once the server reads it, so "sent" means accepted
	client := http.Client{Transport: &http.Transport{ExpectContinueTimeout: 5 * time.Minute}}
	r, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.Status, body)
	}
	tr := new(transcript.Transcript)
	return tr, json.Unmarshal(body, tr)
}

// accepted returns how many requests the server counts as accepted and not answered;
// -1 if it cannot be reached.
func accepted(url string) (n int) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url + "/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		var v int
		for _, gauge := range []string{"verity_working", "verity_waiting"} {
			if _, err := fmt.Sscanf(lines.Text(), gauge+" %d", &v); err == nil {
				n += v
			}
		}
	}
	return n
}

func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// same compares what an answer and the output of the program both have.
func same(t *testing.T, got, want *transcript.Transcript) {
	t.Helper()
	if strings.TrimSpace(got.Text) != strings.TrimSpace(want.Text) || len(got.Segments) != len(want.Segments) {
		t.Errorf("got %q in %d segments, want %q in %d", got.Text, len(got.Segments), want.Text, len(want.Segments))
		return
	}
	for i, s := range got.Segments {
		if !reflect.DeepEqual(s, want.Segments[i]) {
			t.Errorf("segment %d: got %+v, want %+v", i, s, want.Segments[i])
		}
	}
}
