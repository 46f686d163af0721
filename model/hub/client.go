package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/internal/input"
	"verity/internal/output"
)

// defaultEndpoint is the address of the hub.
const defaultEndpoint = "https://" + "huggingface.co"

// A Client finds and fetches models. The zero value has no cache: see [FromEnv].
type Client struct {
	Cache    string // the directory that holds models--…; "" is an error where it is needed
	Endpoint string // "" means that of Hugging Face
	Token    string // "" means none
	Offline  bool   // use only the cache
	Attempts int    // for each file, 0 means 5

	// Progress, if not nil, is called with the number of bytes downloaded of a file; total
	// is -1 if the hub does not state it.
	Progress func(file string, done, total int64)

	// Notice, if not nil, is called with a line for people when something is waited for:
	// another process, a hub that is busy, a connection that was cut.
	Notice func(line string)

	HTTP  *http.Client                                     // nil means one with timeouts for connecting
	stall time.Duration                                    // without a byte until a connection is given up; 0 means 30 s
	wait  func(ctx context.Context, d time.Duration) error // nil means to sleep; for tests
}

// FromEnv returns a client configured by the environment, see the package documentation.
func FromEnv() *Client {
	within := func(dir, name string) string { // "" if there is no dir
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, name)
	}
	user, _ := os.UserHomeDir() // none is an error where the cache is needed
	home := cmp.Or(os.Getenv("HF_HOME"), within(cmp.Or(os.Getenv("XDG_CACHE_HOME"), within(user, ".cache")), "huggingface"))
	c := &Client{
		Cache:    cmp.Or(os.Getenv("HF_HUB_CACHE"), within(home, "hub")),
		Endpoint: os.Getenv("HF_ENDPOINT"), Token: os.Getenv("HF_TOKEN"),
		Offline: slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE"))),
	}
	if file := cmp.Or(os.Getenv("HF_TOKEN_PATH"), within(home, "token")); c.Token == "" && file != "" {
		if b, err := input.Read(context.Background(), file, 1<<16); err == nil {
			c.Token = strings.TrimSpace(string(b))
		}
	}
	return c
}

// Pull downloads the missing files of the newest version of a model.
func (c *Client) Pull(ctx context.Context, name string) (string, error) {
	repo, ok := Repo(name)
	if !ok {
		return "", fmt.Errorf("%q is no name of a model: want owner/name or a size such as small", name)
	}
	if c.Cache == "" {
		return "", fmt.Errorf("%s: %w", repo, ErrNoCache)
	}
	if c.Offline {
		return "", fmt.Errorf("%s: %w", repo, ErrOffline)
	}
	commit, files, err := c.files(ctx, repo)
	if err != nil {
		return "", fmt.Errorf("%s: %w", repo, err)
	}
	dir := filepath.Join(c.folder(repo), "snapshots", commit)
	for _, f := range files {
		err := c.file(ctx, repo, commit, f)
		if errors.Is(err, ErrNotFound) { // the model is there
			err = c.odd("status: got 404, want a file that the hub itself has listed")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", repo, f, err)
		}
	}
	refs := filepath.Join(c.folder(repo), "refs")
	//verity:writes an empty directory does no harm
	if err := os.MkdirAll(refs, 0o777); err != nil {
		return "", err
	}
	return dir, output.Replace(filepath.Join(refs, "main"), func(w io.Writer) error {
		_, err := io.WriteString(w, commit)
		return err
	})
}

// odd returns the error of an answer that no hub gives, and the remedy.
func (c *Client) odd(format string, args ...any) error {
	remedy := "try again later"
	if c.Endpoint != "" {
		remedy = "check HF_ENDPOINT, which is " + c.hub()
	}
	return fmt.Errorf("%w: %w; %s", ErrAnswer, fmt.Errorf(format, args...), remedy)
}

// files asks the hub for the files of a repository, and returns those of a checkpoint,
// the weights last.
func (c *Client) files(ctx context.Context, repo string) (commit string, files []string, err error) {
	resp, err := c.get(ctx, http.MethodGet, c.address("api", "models", repo, "revision", "main"), true)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Sha      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&answer); err != nil {
		return "", nil, c.odd("list of files: got no JSON: %w", err)
	}
	if !isHex(answer.Sha, 40) {
		return "", nil, c.odd("sha: got %.60q, want that of a commit", answer.Sha)
	}
	var names []string
	for _, s := range answer.Siblings {
		names = append(names, s.Name)
	}
	files = needed(names)
	switch {
	case len(files) == 0:
		return "", nil, fmt.Errorf("weights: got %d files, such as %.80q, want model.safetensors or model.bin; "+
			"name a Whisper model in one of these forms", len(names), names[:min(len(names), 10)])
	case len(files) > mostFiles:
		return "", nil, c.odd("list of files: got %d of a checkpoint, want at most %d", len(files), mostFiles)
	}
	return answer.Sha, files, nil
}

// needed returns the files of a checkpoint among those of a repository.
func needed(names []string) (files []string) {
	for _, small := range []string{"config.json", "generation_config.json", "preprocessor_config.json",
		"tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json"} {
		if slices.Contains(names, small) {
			files = append(files, small)
		}
	}
	switch {
	case slices.Contains(names, "model.safetensors"):
		return append(files, "model.safetensors")
	case slices.Contains(names, "model.safetensors.index.json"):
		files = append(files, "model.safetensors.index.json")
		for _, n := range names {
			if ok, _ := path.Match("model-*-of-*.safetensors", n); ok && plain(n) {
				files = append(files, n)
			}
		}
		return files
	case slices.Contains(names, "model.bin"):
		return append(files, "model.bin")
	}
	return nil
}

// mostFiles bounds the files of a checkpoint, each of which has a bound of its own.
const mostFiles = 100

// plain reports whether a name is a file of its directory on every system, and can be shown.
func plain(name string) bool {
	return len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/\:`, r) })
}

// hub is the address of the hub as people see it: without a password.
func (c *Client) hub() string {
	scheme, rest, _ := strings.Cut(cmp.Or(c.Endpoint, defaultEndpoint), "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		return scheme + "://…" + rest[at:]
	}
	return cmp.Or(c.Endpoint, defaultEndpoint)
}

func (c *Client) address(parts ...string) string {
	return strings.TrimSuffix(cmp.Or(c.Endpoint, defaultEndpoint), "/") + "/" + strings.Join(parts, "/")
}

// get is ask for the whole of an address, again if the hub is busy.
func (c *Client) get(ctx context.Context, method, address string, follow bool) (resp *http.Response, err error) {
	err = c.retry(ctx, path.Base(address), func() (int64, error) {
		resp, err = c.ask(ctx, method, address, 0, follow)
		return 0, err
	})
	return resp, err
}

// ask requests an address from a byte on. follow says whether to follow redirects to other
// hosts. The token is sent only to the hub's own host. An answer, or its body, that stands
// still for long ends with [errStall].
func (c *Client) ask(ctx context.Context, method, address string, from int64, follow bool) (*http.Response, error) {
	host, err := url.Parse(address)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	client := http.Client{Timeout: 0, Transport: transport}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != host.Host || req.URL.Scheme != host.Scheme {
			req.Header.Del("Authorization")
			if !follow {
				return http.ErrUseLastResponse
			}
		}
		switch {
		case req.URL.Scheme != "https" && req.URL.Scheme != host.Scheme:
			return c.odd("%w: got the scheme %.20q, want https", errRedirect, req.URL.Scheme)
		case len(via) > 10:
			return c.odd("%w: got more than 10 in a row", errRedirect)
		}
		return nil
	}
	p := c.patient(ctx)
	req, err := http.NewRequestWithContext(p.ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "verity")
	req.Header.Set("Accept-Encoding", "identity")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := client.Do(req)
	if err != nil {
		p.end(nil)
		return nil, c.unreached(ctx, p.cause(err))
	}
	p.body, resp.Body = resp.Body, p
	err = c.status(resp, from)
	if packed := resp.Header.Get("Content-Encoding"); err == nil && method == http.MethodGet && packed != "" && packed != "identity" {
		err = c.odd("Content-Encoding: got %.40q, want identity, as it was asked for", packed) // a part of it would pass for a part of the file
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// A refusal is of a hub that is busy; a pause below 0 is not stated.
type refusal struct {
	error
	pause time.Duration
}

func (b *refusal) Unwrap() error { return b.error }

// retry tries until what went wrong will not pass by itself, or has been tried often enough
// in a row without bringing anything.
func (c *Client) retry(ctx context.Context, file string, try func() (bytes int64, err error)) error {
	const progress = 1 << 20 // bytes after which the next failure counts as the first
	for attempt := 1; ; attempt++ {
		n, err := try()
		if n >= progress {
			attempt = 1
		}
		var b *refusal
		if !errors.As(err, &b) && !errors.Is(err, errCut) || ctx.Err() != nil || attempt >= c.attempts() {
			return err
		}
		pause := time.Second << min(attempt-1, 5)
		if b != nil && b.pause >= 0 {
			pause = min(b.pause, 2*time.Minute)
		}
		c.notify("%s: %v: trying again in %.0f s (%d of %d)", file, err, pause.Seconds(), attempt, c.attempts()-1)
		if c.wait != nil {
			err = c.wait(ctx, pause)
		} else {
			err = sleep(ctx, pause)
		}
		if err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var transport = &http.Transport{
	Proxy:               http.ProxyFromEnvironment,
	DialContext:         (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
	TLSHandshakeTimeout: 20 * time.Second,

	MaxResponseHeaderBytes: 64 << 10, // errors may quote them
}

// errRedirect and errRange are of answers: the one will not change, the other is of a part.
var (
	errRedirect = errors.New("redirect")
	errRange    = errors.New("the part that came is not the one that is missing")
)

// leastBytes is what must come in the time of a stall: less would take days.
const leastBytes = 16 << 10

// A patient reader ends a request when too little has come for some time. It is the body of
// the answer.
type patient struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	stall time.Duration
	left  time.Duration // to wait until leastBytes have come
	bytes int           // of these
	timer *time.Timer
	body  io.ReadCloser
}

func (c *Client) patient(ctx context.Context) *patient {
	p := &patient{stall: cmp.Or(c.stall, 30*time.Second)}
	p.left = p.stall
	p.ctx, p.end = context.WithCancelCause(ctx)
	err := fmt.Errorf("%w for %.0f s", errStall, p.stall.Seconds())
	p.timer = time.AfterFunc(p.stall, func() { p.end(err) })
	return p
}

var errStall = errors.New("nothing came, or next to nothing,")

func (p *patient) Read(b []byte) (int, error) {
	p.timer.Reset(p.left)
	began := time.Now()
	n, err := p.body.Read(b)
	p.timer.Stop() // the disk may take its time
	p.left -= time.Since(began)
	if p.bytes += n; p.bytes >= leastBytes {
		p.left, p.bytes = p.stall, 0
	}
	if err != nil && err != io.EOF {
		err = p.cause(err)
	}
	return n, err
}

// cause returns why the request was ended, if it was.
func (p *patient) cause(err error) error {
	if cause := context.Cause(p.ctx); errors.Is(cause, errStall) {
		return cause
	}
	return err
}

func (p *patient) Close() error {
	p.timer.Stop()
	p.end(nil)
	return p.body.Close()
}

func (c *Client) attempts() int { return cmp.Or(c.Attempts, 5) }

// unreached returns the error of a request without an answer, and the remedy.
func (c *Client) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking the hub: %w", err)
	}
	remedy := "check the network"
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		remedy = "check the clock and the certificates that this system trusts"
	}
	if c.Endpoint != "" {
		remedy += " and HF_ENDPOINT"
	}
	if u, bad := url.Parse(c.address()); bad == nil {
		if proxy, _ := transport.Proxy(&http.Request{URL: u}); proxy != nil {
			remedy += " and the proxy " + proxy.Host
		}
	}
	// The method and the address of the request say nothing to people.
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err
	}
	if errors.Is(err, errRedirect) {
		return err
	}
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		err = op.Err
	}
	return fmt.Errorf("%s does not answer: %w; %s, or copy the model here and name its directory",
		c.hub(), err, remedy)
}

// status returns an error that explains a refusal, or a part from another byte than from.
func (c *Client) status(resp *http.Response, from int64) error {
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		if c.Token == "" {
			return fmt.Errorf("%w (status %d): it needs permission, or there is none of this name: set HF_TOKEN, or check the name",
				ErrToken, s)
		}
		return fmt.Errorf("%w (status %d): it did not accept this token: check HF_TOKEN, "+
			"and that you may read the model", ErrToken, s)
	case s == http.StatusNotFound:
		return fmt.Errorf("%w (status %d): check the name", ErrNotFound, s)
	case s == http.StatusRequestedRangeNotSatisfiable && from > 0,
		s == http.StatusPartialContent && !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)):
		return errRange
	case s < 400:
		return nil
	}
	err := c.odd("status: got %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if resp.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("the hub limits requests (status %d): try again later, or set HF_TOKEN", resp.StatusCode)
	} else if resp.StatusCode < 500 {
		return err
	}
	seconds, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
	if bad != nil {
		seconds = -1
	}
	return &refusal{err, time.Duration(seconds) * time.Second}
}

// notify passes a line on to Notice.
func (c *Client) notify(format string, args ...any) {
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}

func isHex(s string, n int) bool {
	return len(s) == n && !strings.ContainsFunc(s,
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}
