package hub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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
	c := &Client{Cache: cache, Endpoint: os.Getenv(childEndpoint), wait: func(context.Context, time.Duration) error { return nil }}
	dir, err := c.Resolve(context.Background(), "tiny")
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
	c, _ := h.client(t)
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
	c, _ := h.client(t)
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
	dir, err := c.Resolve(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, h, dir)
	if from := h.from.Load(); from == 0 {
		t.Error("the second run began anew")
	}
}
