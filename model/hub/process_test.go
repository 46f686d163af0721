package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// TestKilledOften kills processes at thirty moments of a download from a hub that cuts
// transfers and now and then sends the whole file for a part of it. At no moment is a part
// taken for the whole, and what is left is of use to the next process, or does no harm.
func TestKilledOften(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: starts some seventy processes")
	}
	h := newHub(t)
	serve, asked := h.cdn.Config.Handler, atomic.Int32{}
	h.cdn.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) % 4 {
		case 1:
			h.cuts.Store(1)
		case 3:
			r.Header.Del("Range")
		}
		serve.ServeHTTP(slow{w}, r)
	})
	began := time.Now()
	if out, err := child(t, h, t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(began)
	const moments = 30
	found, kept := 0, 0
	for i := range moments {
		c := &Client{Cache: t.TempDir(), Endpoint: h.URL}
		for range 1 + i%2 { // some twice
			p := child(t, h, c.Cache)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(whole * time.Duration(i+1) / moments)
			p.Process.Kill()
			p.Wait()
			if dir, ok := c.Find("tiny"); ok {
				checkWhole(t, h, dir)
				found++
			}
			if parts, _ := filepath.Glob(filepath.Join(c.folder(repo), "blobs", "*.incomplete")); len(parts) > 0 {
				kept++
			}
		}
		out, err := child(t, h, c.Cache).CombinedOutput()
		if err != nil {
			t.Fatalf("after a kill at %d of %d: %v: %s", i, moments, err, out)
		}
		dir, ok := c.Find("tiny")
		if !ok {
			t.Fatalf("after a kill at %d of %d it is not whole", i, moments)
		}
		checkWhole(t, h, dir)
	}
	t.Logf("in %v; whole after %d kills, a part after %d", whole, found, kept)
}

// A slow writer takes its time for each piece.
type slow struct{ http.ResponseWriter }

func (s slow) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		k := min(len(b), 20_000)
		_, err = s.ResponseWriter.Write(b[:k])
		s.ResponseWriter.(http.Flusher).Flush()
		n, b = n+k, b[k:]
		time.Sleep(5 * time.Millisecond)
	}
	return n, err
}

// TestBackwards: a clock that goes backwards ends no download and makes none endless. Times
// of files are only for the order of snapshots.
func TestBackwards(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	dir, err := c.locate(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []time.Time{time.Unix(0, 0), time.Now().AddDate(50, 0, 0)} {
		err := filepath.WalkDir(c.Cache, func(name string, d fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(name, when, when))
		})
		if err != nil {
			t.Fatal(err)
		}
		gets := h.gets.Load()
		if again, err := c.Pull(t.Context(), "tiny"); err != nil || again != dir || h.gets.Load() != gets {
			t.Errorf("at %v: %s, %v, %d transfers more", when, again, err, h.gets.Load()-gets)
		}
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
