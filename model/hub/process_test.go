package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Variables that make this test program a client of the fake hub.
const (
	childCache    = "VERITY_TEST_HUB_CACHE"
	childEndpoint = "VERITY_TEST_HUB_ENDPOINT"
)

// TestMain runs the tests, or resolves one model as a program of its own.
func TestMain(m *testing.M) {
	cache := os.Getenv(childCache)
	if cache == "" {
		os.Exit(m.Run())
	}
	c := &Client{Cache: cache, Endpoint: os.Getenv(childEndpoint), stall: time.Hour, pause: 1}
	dir, err := c.locate(context.Background(), "tiny")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// child returns a process that resolves the model.
func child(t *testing.T, h *fakeHub, cache string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), childCache+"="+cache, childEndpoint+"="+h.URL)
	return c
}

// TestProcesses checks that concurrent processes download a model once, also if the
// connection is cut, and that both have it complete.
func TestProcesses(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	h.cuts.Store(1)
	type answer struct {
		dir string
		err error
	}
	answers := make(chan answer, 3)
	for range cap(answers) {
		p := child(t, h, c.Cache)
		go func() {
			out, err := p.Output()
			answers <- answer{strings.TrimSpace(string(out)), err}
		}()
	}
	for range cap(answers) {
		if a := <-answers; a.err != nil {
			t.Error(a.err)
		} else {
			checkWhole(t, h, a.dir)
		}
	}
	if n := h.gets.Load(); n != 2 {
		t.Errorf("the weights were asked for %d times, want 2: one was cut", n)
	}
}

// TestKilled checks that a process killed during a download leaves no lock and nothing
// that looks complete. The next process continues.
func TestKilled(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	half := make(chan struct{})
	stall := func() { close(half); <-t.Context().Done() }
	h.stall.Store(&stall)
	p := child(t, h, c.Cache)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	part := c.folder(repo) + "/blobs/" + h.hash + ".incomplete"
	for st, err := os.Stat(part); err != nil || st.Size() == 0; st, err = os.Stat(part) {
		time.Sleep(time.Millisecond)
	}
	p.Process.Kill()
	p.Wait()
	if dir, ok := c.Find("tiny"); ok {
		t.Fatalf("%s looks whole", dir)
	}
	dir, err := c.locate(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, h, dir)
	if from := h.from.Load(); from == 0 {
		t.Error("the second run began anew")
	}
}

// TestFullDisk: a disk that is full amid a download is said at once, leaves nothing that looks
// whole, and when there is room again the download is continued.
func TestFullDisk(t *testing.T) {
	h := newHub(t)
	dir := t.TempDir()
	p := child(t, h, dir)
	out := filepath.Join(t.TempDir(), "weights")
	script := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", `
		mount -t tmpfs -o size=256k none "$1" || exit 77
		"$2" && exit 3
		test -z "$(ls "$1"/models--*/snapshots/*/model.safetensors 2>/dev/null)" || exit 4
		mount -o remount,size=20m "$1" || exit 77
		"$2" && cat "$1"/models--*/snapshots/*/model.safetensors >"$3"`, "sh", dir, p.Path, out)
	script.Env = p.Env
	said, err := script.CombinedOutput()
	if code := new(exec.ExitError); errors.Is(err, exec.ErrNotFound) || errors.As(err, &code) && (code.ExitCode() == 77 || code.ExitCode() == 1 && h.gets.Load() == 0) {
		t.Skip("needs root: no file system can be mounted here")
	}
	if err != nil || strings.Count(string(said), "no space left on device") != 1 || h.gets.Load() != 2 || h.from.Load() == 0 {
		t.Errorf("%v: %s; asked for the weights %d times, last from byte %d", err, said, h.gets.Load(), h.from.Load())
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != string(h.weights) {
		t.Errorf("%d bytes of weights, %v", len(b), err)
	}
}
