package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	repo   = "openai/whisper-tiny"
)

// A fakeHub is a hub on this machine: config.json comes from the hub itself, the weights
// by a redirect from another host.
type fakeHub struct {
	*httptest.Server
	cdn     *httptest.Server
	weights []byte
	hash    string       // of the weights, as it says
	size    int          // likewise
	cuts    atomic.Int32 // that many transfers of the weights end in the middle
	busy    atomic.Int32 // that many answers are 429
	status  int          // of every answer, if it is not 0
	linked  string       // X-Linked-Size; empty means size
	etag    string       // of config.json; empty means a good one
	sha     string       // of the commit; empty means a good one
	gets    atomic.Int32 // of weights
	leaked  atomic.Bool  // the token reached the other host
	token   atomic.Value
	stall   atomic.Pointer[func()] // called amid the next transfer of the weights
	from    atomic.Int64           // first byte of the last requested transfer
}

func newHub(t *testing.T) *fakeHub { return hubOn(t, httptest.NewServer) }

func hubOn(t *testing.T, start func(http.Handler) *httptest.Server) *fakeHub {
	h := &fakeHub{weights: []byte(strings.Repeat("weights!", 50_000))}
	sum := sha256.Sum256(h.weights)
	h.hash, h.size = hex.EncodeToString(sum[:]), len(h.weights)
	h.cdn = start(http.HandlerFunc(h.serveWeights))
	h.Server = start(http.HandlerFunc(h.serve))
	t.Cleanup(h.cdn.Close)
	t.Cleanup(h.Close)
	return h
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	h.token.Store(r.Header.Get("Authorization"))
	if h.busy.Add(-1) >= 0 {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if h.status != 0 {
		w.WriteHeader(h.status)
		return
	}
	switch at := "/" + repo + "/resolve/" + commit + "/"; r.URL.Path {
	case "/api/datasets/owner/speech/revision/refs/convert/parquet":
		json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": []map[string]string{
			{"rfilename": "README.md"}, {"rfilename": "clean/test/0000.parquet"}, {"rfilename": "clean/test/0001.parquet"},
			{"rfilename": "other/test/0000.parquet"}, {"rfilename": "../../evil/x.parquet"}}})
	case "/datasets/owner/speech/resolve/" + commit + "/clean/test/0000.parquet", "/datasets/owner/speech/resolve/" + commit + "/clean/test/0001.parquet":
		w.Header().Set("ETag", `"`+path.Base(r.URL.Path)+`"`)
		fmt.Fprint(w, "PAR1")
	case "/api/models/" + repo + "/revision/main":
		json.NewEncoder(w).Encode(map[string]any{"sha": cmp.Or(h.sha, commit), "siblings": []map[string]string{
			{"rfilename": "README.md"}, {"rfilename": "config.json"}, {"rfilename": "model.safetensors"}, {"rfilename": "pytorch_model.bin"}}})
	case at + "config.json": // to another path of the same host first
		http.Redirect(w, r, "/cached/config.json", http.StatusTemporaryRedirect)
	case "/cached/config.json":
		w.Header().Set("ETag", cmp.Or(h.etag, `"plain-etag"`))
		fmt.Fprint(w, `{"model_type": "whisper"}`)
	case at + "model.safetensors":
		w.Header().Set("X-Linked-Etag", `"`+h.hash+`"`)
		w.Header().Set("X-Linked-Size", cmp.Or(h.linked, strconv.Itoa(h.size)))
		w.Header().Set("ETag", `"of-the-redirect"`)
		http.Redirect(w, r, strings.Replace(h.cdn.URL, "127.0.0.1", "localhost", 1)+"/blob", http.StatusFound)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (h *fakeHub) serveWeights(w http.ResponseWriter, r *http.Request) {
	h.gets.Add(1)
	if r.Header.Get("Authorization") != "" {
		h.leaked.Store(true)
	}
	from := 0
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	h.from.Store(int64(from))
	if stall := h.stall.Swap(nil); stall != nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(h.weights)))
		w.Write(h.weights[:len(h.weights)/2])
		w.(http.Flusher).Flush()
		(*stall)()
		panic(http.ErrAbortHandler)
	}
	if h.cuts.Add(-1) >= 0 {
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(h.weights)-1, len(h.weights)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(h.weights)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(h.weights[from : from+(len(h.weights)-from)/2])
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "blob", time.Time{}, strings.NewReader(string(h.weights)))
}

func (h *fakeHub) client(t *testing.T) *Client {
	return &Client{Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: h.URL, Token: "secret", stall: time.Hour, pause: 1}
}

func checkWhole(t *testing.T, h *fakeHub, dir string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil || string(got) != string(h.weights) {
		t.Errorf("%d bytes of weights, %v, want %d", len(got), err, len(h.weights))
	}
	if h.leaked.Load() {
		t.Error("the token reached another host")
	}
}

// TestPull checks that the layout is huggingface_hub's, and that nothing is downloaded
// twice.
func TestPull(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	var last int64
	c.Progress = func(file string, done, total int64) {
		if file == "model.safetensors" {
			if done < last || total != int64(h.size) {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}
	}
	dir, err := c.locate(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, h, dir)
	home := filepath.Join(c.Cache, "models--openai--whisper-tiny")
	if dir != filepath.Join(home, "snapshots", commit) || last != int64(h.size) || h.token.Load() != "Bearer secret" {
		t.Errorf("directory %s, progress to %d, token %v", dir, last, h.token.Load())
	}
	if ref, err := os.ReadFile(filepath.Join(home, "refs", "main")); err != nil || string(ref) != commit {
		t.Errorf("refs/main = %q, %v", ref, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "model.safetensors")); err != nil || filepath.ToSlash(to) != "../../blobs/"+h.hash {
		t.Errorf("link to %q, %v", to, err)
	}
	gets := h.gets.Load()
	c.Offline = true
	if again, err := c.locate(t.Context(), repo); err != nil || again != dir || h.gets.Load() != gets {
		t.Errorf("again: %s, %v, %d transfers more", again, err, h.gets.Load()-gets)
	}
	list, err := c.List()
	if err != nil || len(list) != 1 || list[0].Repo != repo || list[0].Dir != dir || list[0].Bytes < int64(h.size) {
		t.Errorf("List = %+v, %v", list, err)
	}
	if n, err := c.Remove("tiny"); err != nil || n < int64(h.size) {
		t.Errorf("Remove = %d, %v", n, err)
	}
	if _, ok := c.Find("tiny"); ok {
		t.Error("found after it was removed")
	}
	if _, err := c.locate(t.Context(), "tiny"); !errors.Is(err, ErrOffline) {
		t.Errorf("offline: %v", err)
	}
}

// TestCut checks that transfers that end in the middle are continued, by this run and the
// next.
func TestCut(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	c.attempts = 2
	h.cuts.Store(3)
	if _, err := c.locate(t.Context(), "tiny"); !errors.Is(err, errCut) {
		t.Fatalf("error = %v, want errCut", err)
	}
	if dir, ok := c.Find("tiny"); ok {
		t.Fatalf("%s looks whole", dir)
	}
	part := filepath.Join(c.folder(repo), "blobs", h.hash+".incomplete")
	if st, err := os.Stat(part); err != nil || st.Size() < int64(h.size)*7/10 {
		t.Errorf("of two transfers there is %v, %v", st, err)
	}
	dir, err := c.locate(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, h, dir)
	if _, err := os.Stat(part); err == nil {
		t.Error("the part is still there")
	}
}

func TestDamaged(t *testing.T) {
	for name, change := range map[string]func(h *fakeHub){
		"hash":  func(h *fakeHub) { h.hash = strings.Repeat("a", 64) },
		"short": func(h *fakeHub) { h.size -= 100 },
		"long":  func(h *fakeHub) { h.size += 100 },
	} {
		h := newHub(t)
		change(h)
		c := h.client(t)
		c.attempts = 2
		_, err := c.locate(t.Context(), "tiny")
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if name != "long" && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error = %v, want ErrDamaged", name, err)
		}
		if _, ok := c.Find("tiny"); ok {
			t.Errorf("%s: it looks whole", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	for status, want := range map[int]error{401: ErrToken, 403: ErrToken, 404: ErrNotFound, 429: nil, 500: nil} {
		h := newHub(t)
		h.status = status
		c := h.client(t)
		_, err := c.locate(t.Context(), "tiny")
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), strconv.Itoa(status)) {
			t.Errorf("%d: error = %v", status, err)
		}
	}
	h := newHub(t)
	h.busy.Store(2)
	c := h.client(t)
	if _, err := c.locate(t.Context(), "tiny"); err != nil {
		t.Errorf("busy twice: %v", err)
	}
	for _, name := range []string{"../x", "a/b/c", "a/..", "nothing", "a--b/c"} {
		if _, err := c.Pull(t.Context(), name); err == nil || !strings.Contains(err.Error(), "not the name of a model") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Pull(ctx, "base"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRefusedFile: where the hub lists a file and does not give it, the file is named, and
// the model is not said to be missing.
func TestRefusedFile(t *testing.T) {
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		for _, status := range []int{401, 403, 404, 410, 416, 429, 500, 503} {
			h := newHub(t)
			serve := h.Config.Handler
			h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/model.safetensors") && r.Method == method {
					w.WriteHeader(status)
					return
				}
				serve.ServeHTTP(w, r)
			})
			for _, token := range []string{"", "secret"} {
				c := h.client(t)
				c.Token = token
				_, err := c.Pull(t.Context(), "tiny")
				text := fmt.Sprint(err)
				if !strings.HasPrefix(text, repo+": model.safetensors: ") || !strings.Contains(text, strconv.Itoa(status)) ||
					strings.Contains(text, "no such model") || errors.Is(err, ErrNotFound) || errors.Is(err, errCut) {
					t.Errorf("%s %d: %v", method, status, err)
				}
			}
		}
	}
}

// TestRemove: what cannot be looked at is not said to be missing.
func TestRemove(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Client{Cache: file}).Remove("tiny"); err == nil || runtime.GOOS != "windows" && errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cache that is a file: %v", err)
	}
	if _, err := (&Client{Cache: t.TempDir()}).Remove("tiny"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a model that is not there: %v", err)
	}
}

// TestMessages checks the form of errors: the file, the thing, got, want, and a remedy.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		set  func(h *fakeHub, c *Client)
		want error
		text string
	}{
		{func(h *fakeHub, _ *Client) { h.linked = "many" }, ErrAnswer,
			`openai/whisper-tiny: model.safetensors: the hub's answer is odd: size: got "many", want a number of bytes; check HF_ENDPOINT, which is http`},
		{func(h *fakeHub, _ *Client) { h.linked = "-1" }, ErrAnswer, `size: got "-1"`},
		{func(h *fakeHub, _ *Client) { h.linked = "10 bytes" }, ErrAnswer, `size: got "10 bytes"`},
		{func(h *fakeHub, _ *Client) { h.linked = "10" }, ErrDamaged, "; it was removed: try again"},
		{func(h *fakeHub, _ *Client) { h.sha = "main" }, ErrAnswer, `sha: got "main", want that of a commit; check HF_ENDPOINT`},
		{func(h *fakeHub, _ *Client) { h.status = 500 }, ErrAnswer, "status: got 500 Internal Server Error; check HF_ENDPOINT"},
		{func(_ *fakeHub, c *Client) { c.Endpoint = "nonsense" }, nil,
			`nonsense does not answer: unsupported protocol scheme ""; check the network, the proxy and HF_ENDPOINT`},
		{func(_ *fakeHub, c *Client) { c.Endpoint = "http://" }, nil, "check the network, the proxy and HF_ENDPOINT"},
		{func(_ *fakeHub, c *Client) { c.Endpoint = "http://me:hunter2@127.0.0.1:1" }, nil, "http://me:xxxxx@127.0.0.1:1 does not answer: "},
		{func(_ *fakeHub, c *Client) { c.Endpoint = "http://me:hunter2%zz@127.0.0.1:1" }, nil, "HF_ENDPOINT does not answer: "},
		{func(h *fakeHub, c *Client) {
			h.status = 500
			c.Endpoint = strings.Replace(h.URL, "://", "://me:hunter2@", 1)
		}, ErrAnswer, "check HF_ENDPOINT, which is http://me:xxxxx@127.0.0.1"},
		{func(_ *fakeHub, c *Client) {
			h := httptest.NewUnstartedServer(nil)
			h.Config.ErrorLog = log.New(io.Discard, "", 0)
			h.StartTLS()
			t.Cleanup(h.Close)
			c.Endpoint = h.URL
		}, nil, "certificate"},
		{func(_ *fakeHub, c *Client) { c.Endpoint = "http://127.0.0.1:1" }, nil,
			"; check the network, the proxy and HF_ENDPOINT, or copy the files here and name their directory"},
	} {
		h := newHub(t)
		c := h.client(t)
		tt.set(h, c)
		_, err := c.Pull(t.Context(), "tiny")
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %v and %q", err, tt.want, tt.text)
		}
	}
}

// TestNoLinks checks that a system without links gets copies.
func TestNoLinks(t *testing.T) {
	symlink = func(string, string) error { return os.ErrPermission }
	defer func() { symlink = os.Symlink }()
	h := newHub(t)
	c := h.client(t)
	dir, err := c.locate(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, h, dir)
}

// TestFind checks that models of other programs are found, and incomplete ones are not.
func TestFind(t *testing.T) {
	c := &Client{Cache: t.TempDir()}
	put := func(repo, file, content string) {
		at := filepath.Join(c.folder(repo), "snapshots", commit, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("Systran/faster-whisper-base", "config.json", "{}")
	if _, ok := c.Find("base"); ok {
		t.Error("found without weights")
	}
	put("Systran/faster-whisper-base", "model.bin", "x")
	if dir, ok := c.Find("base"); !ok || !strings.Contains(dir, "Systran") {
		t.Errorf("%s, %v", dir, ok)
	}
	put("openai/whisper-base", "config.json", "{}")
	put("openai/whisper-base", "model.safetensors.index.json", `{"weight_map": {"a": "m1.safetensors", "b": "m2.safetensors"}}`)
	put("openai/whisper-base", "m1.safetensors", "x")
	if dir, _ := c.Find("base"); strings.Contains(dir, "openai") {
		t.Error("found with one file of two")
	}
	put("openai/whisper-base", "m2.safetensors", "x")
	if dir, ok := c.Find("openai/whisper-base"); !ok || !strings.Contains(dir, "openai") {
		t.Errorf("%s, %v", dir, ok)
	}
}

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HOME", home)
	for _, name := range []string{"HF_HUB_CACHE", "HF_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("\ufeffabc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := FromEnv(); c.Cache != filepath.Join(home, "hub") || c.Token != "abc" || !c.Offline {
		t.Errorf("%+v", c)
	}
}

// TestNoHome: without a home directory, the cache is not where others can put files.
func TestNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "USERPROFILE", "home", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_TOKEN_PATH"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir()) // nor in the directory at work
	planted := &Client{Cache: "."}
	dir := filepath.Join(planted.folder(repo), "snapshots", commit)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile("token", []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"config.json", "model.safetensors"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := planted.Find("tiny"); !ok || planted.Assistant("large-v2") != "openai/whisper-tiny" || planted.Assistant("large-v3") != "" {
		t.Fatal("the planted model is none, or not the one for large-v2")
	}
	c := FromEnv()
	_, found := c.Find("tiny")
	_, err := c.locate(t.Context(), "tiny")
	_, err2 := c.List()
	_, err3 := c.Remove("tiny")
	if c.Cache != "" || c.Token != "" || found || c.Assistant("large-v2") != "" {
		t.Errorf("cache %q, token %q, found %v", c.Cache, c.Token, found)
	}
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, ErrNoCache) || !strings.Contains(err.Error(), "set HOME, or HF_HOME") {
			t.Errorf("error = %v", err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", "/c")
	if c := FromEnv(); filepath.ToSlash(c.Cache) != "/c/huggingface/hub" {
		t.Errorf("with XDG_CACHE_HOME the cache is %s", c.Cache)
	}
}

// TestStall: a hub that stands still, before its answer or in its midst, is asked again
// for the rest, and each wait is said.
func TestStall(t *testing.T) {
	for _, where := range []string{"before", "amid"} {
		t.Run(where, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { stalls(t, where) }) })
	}
}

func stalls(t *testing.T, where string) {
	var n network
	h := hubOn(t, n.serve)
	c := h.client(t)
	c.HTTP, c.stall, c.pause = &http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}, 0, 0
	var said []string
	c.Notice = func(line string) { said = append(said, line) }
	serve := h.cdn.Config.Handler
	hold := func(r *http.Request) { <-r.Context().Done() }
	h.cdn.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && h.gets.Load() == 0 {
			if where == "before" {
				h.gets.Add(1)
				hold(r)
				return
			}
			stall := func() { hold(r) }
			h.stall.Store(&stall)
		}
		serve.ServeHTTP(w, r)
	})
	dir, err := c.Pull(t.Context(), "tiny")
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	checkWhole(t, h, dir)
	if from := h.from.Load(); (from > 0) != (where == "amid") {
		t.Errorf("%s: the second try began at byte %d", where, from)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "model.safetensors: ") || !strings.Contains(all, "nothing came for 30s") ||
		!strings.Contains(all, "trying again in 1s (1 of 4)") {
		t.Errorf("%s: said %q", where, all)
	}
}

// A network has no clock but that of synctest's bubble.
type network []chan net.Conn

func (n *network) serve(h http.Handler) *httptest.Server {
	ctx, cancel := context.WithCancel(context.Background())
	*n = append(*n, make(chan net.Conn))
	s := &httptest.Server{Listener: listener{ctx, cancel, (*n)[len(*n)-1], len(*n)}, Config: &http.Server{Handler: h}}
	s.Start()
	return s
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(address)
	i, _ := strconv.Atoi(port)
	near, far := net.Pipe()
	select {
	case (*n)[i-1] <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A listener is a port of a network.
type listener struct {
	ctx   context.Context
	end   func()
	conns chan net.Conn
	port  int
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { l.end(); return nil }
func (l listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port} }

// TestStalledList: what is asked before the files has the limit too.
func TestStalledList(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"sha":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(h.Close)
	c := &Client{Cache: t.TempDir(), Endpoint: h.URL, stall: 50 * time.Millisecond}
	if _, err := c.Pull(t.Context(), "tiny"); err == nil || !strings.Contains(err.Error(), "nothing came") {
		t.Errorf("got %v", err)
	}
}

// TestSameETag: two files whose ETag is the same and no hash are two blobs, and it is said
// that they are not checked.
func TestSameETag(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/api/"):
			fmt.Fprintf(w, `{"sha": %q, "siblings": [{"rfilename": "config.json"}, {"rfilename": "merges.txt"}, {"rfilename": "model.safetensors"}]}`, commit)
		default:
			w.Header().Set("ETag", `"1700000000:10"`) // the time and the size, as some mirrors have it
			fmt.Fprint(w, filepath.Base(r.URL.Path))
		}
	}))
	t.Cleanup(h.Close)
	said := 0
	c := &Client{Cache: t.TempDir(), Endpoint: h.URL, Notice: func(string) { said++ }}
	dir, err := c.Pull(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "merges.txt", "model.safetensors"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != name {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	if said != 3 {
		t.Errorf("%d lines were said, want one for each file", said)
	}
}

// TestWaitIsSaid: another process has the lock of a file.
func TestWaitIsSaid(t *testing.T) {
	h := newHub(t)
	c := h.client(t)
	unlock, err := c.lock(t.Context(), "model.safetensors", filepath.Join(c.Cache, ".locks", filepath.Base(c.folder(repo)), h.hash+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	c.Notice = func(line string) {
		said = append(said, line)
		if strings.Contains(line, "another process") {
			unlock()
		}
	}
	if _, err := c.Pull(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "model.safetensors: another process downloads it: waiting") {
		t.Errorf("said %q", all)
	}
}

// TestNoSize: a hub that states no size is reported, since the download could not be bounded.
func TestNoSize(t *testing.T) {
	h := newHub(t)
	serve := h.Config.Handler
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("ETag", `"x"`)
			w.(http.Flusher).Flush() // no Content-Length
			return
		}
		serve.ServeHTTP(w, r)
	})
	if _, err := h.client(t).Pull(t.Context(), "tiny"); !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "size: got") {
		t.Errorf("error = %v", err)
	}
}

// TestNeeded: names that lead elsewhere, or that a terminal would interpret, are not fetched.
func TestNeeded(t *testing.T) {
	names := []string{"config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
		`model-..\..\x-of-1.safetensors`, "model-C:-of-1.safetensors", "model-/../x-of-1.safetensors", "model-\x1b[2J-of-1.safetensors"}
	if got := needed(names); strings.Join(got, " ") != strings.Join(names[:3], " ") {
		t.Errorf("needed: %q", got)
	}
}

// TestRedirectWithoutTLS: a request over TLS does not follow a redirect to plain HTTP, where
// anybody could read the token.
func TestRedirectWithoutTLS(t *testing.T) {
	var token atomic.Value
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer secure.Close()
	c := &Client{Endpoint: secure.URL, Cache: t.TempDir(), Token: "secret", HTTP: secure.Client(), attempts: 1}
	if _, err := c.Pull(t.Context(), repo); err == nil || !strings.Contains(err.Error(), "TLS") || token.Load() != nil {
		t.Errorf("got error %v, token %v at the plain address; want neither", err, token.Load())
	}
}

// TestDataset: the Parquet files of one split are downloaded into the cache, and a name that means several says which.
func TestDataset(t *testing.T) {
	h := newHub(t)
	c := &Client{Cache: t.TempDir(), Endpoint: h.URL}
	dir, err := c.Dataset(t.Context(), "owner/speech:clean")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(c.Cache, "datasets--owner--speech", "snapshots", commit, "clean", "test"); dir != want {
		t.Errorf("directory %s, want %s", dir, want)
	}
	for _, name := range []string{"0000.parquet", "0001.parquet"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "PAR1" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for name, want := range map[string]string{
		"owner/speech":        "want one of clean:test, other:test",
		"owner/speech::train": "want one of clean:test, other:test",
		"owner/none:a:b":      "has no such data set",
		"speech":              "is not the name of a data set",
	} {
		if _, err := c.Dataset(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}

	// Offline the same names mean the same, if all files of the split are in the cache.
	h.Close()
	c.Offline = true
	if again, err := c.Dataset(t.Context(), "owner/speech:clean"); again != dir {
		t.Errorf("offline: %s, %v, want %s", again, err, dir)
	}
	if err := os.Remove(filepath.Join(dir, "0001.parquet")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"owner/speech:clean": "owner/speech:clean: 1 of 2 files are not in the cache, and the network is not to be used",
		"owner/speech:other": "owner/speech:other: 1 of 1 files are not in the cache, and the network is not to be used",
		"owner/none:a":       "owner/none:a: the list of its files is not in the cache, and the network is not to be used",
		"owner/speech":       "want one of clean:test, other:test",
	} {
		if _, err := c.Dataset(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOffline) == (name == "owner/speech") {
			t.Errorf("offline, %s: %v, want %q", name, err, want)
		}
	}
}
