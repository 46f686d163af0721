package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

	// Progress, if not nil, is called with the number of bytes downloaded of a file; total
	// is -1 if the hub does not state it.
	Progress func(file string, done, total int64)

	// Notice, if not nil, is called with a line for people when something is waited for:
	// another process, a hub that is busy, a connection that was cut.
	Notice func(line string)

	HTTP *http.Client // nil means http.DefaultClient

	attempts int           // in a row without progress; 0 means 5
	stall    time.Duration // without a byte until a connection is given up; 0 means 30 s
	pause    time.Duration // before the second attempt, doubled for each further one; 0 means 1 s
}

// FromEnv returns a client configured by the environment, see the package documentation.
func FromEnv() *Client {
	home := cmp.Or(os.Getenv("HF_HOME"), within(userCache(), "huggingface"))
	c := &Client{
		Cache:    cmp.Or(os.Getenv("HF_HUB_CACHE"), within(home, "hub")),
		Endpoint: os.Getenv("HF_ENDPOINT"), Token: os.Getenv("HF_TOKEN"),
		Offline: slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE"))),
	}
	if file := cmp.Or(os.Getenv("HF_TOKEN_PATH"), within(home, "token")); c.Token == "" && file != "" {
		if b, err := input.Read(context.Background(), file, 1<<16); err == nil {
			c.Token = strings.TrimSpace(input.Text(b))
		}
	}
	return c
}

// userCache returns the directory of the user's caches; "" if there is none.
func userCache() string {
	home, _ := os.UserHomeDir() // none is an error where a cache is needed
	return cmp.Or(os.Getenv("XDG_CACHE_HOME"), within(home, ".cache"))
}

// within returns what a name in a directory stands for; "" if there is no directory.
func within(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// Pull downloads the missing files of the newest version of a model.
func (c *Client) Pull(ctx context.Context, name string) (string, error) {
	repo, ok := Repo(name)
	if !ok {
		return "", fmt.Errorf("%q is not the name of a model: want owner/name or a size such as small", name)
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
			err = c.unexpectedResponse("status: got 404, want a file that the hub itself has listed")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", repo, f, err)
		}
	}
	refs := filepath.Join(c.folder(repo), "refs")
	if err := os.MkdirAll(refs, 0o777); err != nil {
		return "", err
	}
	return dir, output.Replace(filepath.Join(refs, "main"), func(w io.Writer) error {
		_, err := io.WriteString(w, commit)
		return err
	})
}

// unexpectedResponse returns the error of an answer that no hub gives, with the remedy.
func (c *Client) unexpectedResponse(format string, args ...any) error {
	remedy := "try again later"
	if c.Endpoint != "" {
		remedy = "check HF_ENDPOINT, which is " + c.hub()
	}
	return fmt.Errorf("%w: %w; %s", ErrAnswer, fmt.Errorf(format, args...), remedy)
}

// files asks the hub for the files of a model, and returns those of a checkpoint, the weights last.
func (c *Client) files(ctx context.Context, repo string) (commit string, files []string, err error) {
	commit, names, err := c.list(ctx, "models/"+repo, "main")
	if err != nil {
		return "", nil, err
	}
	if files = needed(names); len(files) == 0 {
		return "", nil, fmt.Errorf("weights: got %d files, such as %.80q, want model.safetensors or model.bin; "+
			"name a Whisper model in one of these forms", len(names), names[:min(len(names), 10)])
	}
	return commit, files, nil
}

// list asks the hub for the files of a repository, models/owner/name or datasets/owner/name, at a revision.
func (c *Client) list(ctx context.Context, repo, revision string) (commit string, names []string, err error) {
	resp, err := c.get(ctx, http.MethodGet, c.address("api", repo, "revision", revision))
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
		return "", nil, c.unexpectedResponse("list of files: got no JSON: %w", err)
	}
	if len(answer.Sha) != 40 || !hashName.MatchString(answer.Sha) {
		return "", nil, c.unexpectedResponse("sha: got %.60q, want that of a commit", answer.Sha)
	}
	for _, s := range answer.Siblings {
		names = append(names, s.Name)
	}
	return answer.Sha, names, nil
}

// shardName matches the names of weights in several files.
var shardName = regexp.MustCompile(`^model-\d+-of-\d+\.safetensors$`)

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
			if shardName.MatchString(n) {
				files = append(files, n)
			}
		}
		return files
	case slices.Contains(names, "model.bin"):
		return append(files, "model.bin")
	}
	return nil
}

// hub is the address of the hub as people see it: without a password.
func (c *Client) hub() string {
	u, err := url.Parse(c.address())
	if err != nil {
		return "HF_ENDPOINT"
	}
	return strings.TrimSuffix(u.Redacted(), "/")
}

func (c *Client) address(parts ...string) string {
	return strings.TrimSuffix(cmp.Or(c.Endpoint, defaultEndpoint), "/") + "/" + strings.Join(parts, "/")
}

// get is ask for the whole of an address, again if the hub is busy.
func (c *Client) get(ctx context.Context, method, address string) (resp *http.Response, err error) {
	err = c.retry(ctx, path.Base(address), func() (bool, error) {
		resp, err = c.ask(ctx, method, address, 0)
		return false, err
	})
	return resp, err
}

// ask requests an address from a byte on. A HEAD request stops at a redirect to another host,
// since the hub's own answer describes the file. The token does not reach other hosts, where
// net/http removes it, nor an address without TLS. An answer, or its body, that stands still ends with [errStall].
func (c *Client) ask(ctx context.Context, method, address string, from int64) (*http.Response, error) {
	b := &body{stall: cmp.Or(c.stall, 30*time.Second)}
	b.ctx, b.end = context.WithCancelCause(ctx)
	b.timer = time.AfterFunc(b.stall, func() { b.end(fmt.Errorf("%w for %v", errStall, b.stall)) })
	req, err := http.NewRequestWithContext(b.ctx, method, address, nil)
	if err != nil {
		b.end(nil)
		return nil, c.unreached(err)
	}
	req.Header.Set("User-Agent", "verity")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	client := *cmp.Or(c.HTTP, http.DefaultClient)
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		switch {
		case req.URL.Scheme == "https" && next.URL.Scheme != "https":
			return errors.New("the answer leads to an address without TLS, which would show the token")
		case len(via) == 10, method == http.MethodHead && next.URL.Host != req.URL.Host:
			return http.ErrUseLastResponse
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		err = cmp.Or(context.Cause(b.ctx), err)
		b.end(nil)
		return nil, cmp.Or(ctx.Err(), c.unreached(err))
	}
	b.ReadCloser, resp.Body = resp.Body, b
	if err := c.status(resp.StatusCode); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

var (
	errStall     = errors.New("nothing came")
	errUnreached = errors.New("does not answer")
)

// A body is the body of an answer. It ends the request when nothing comes for some time.
type body struct {
	io.ReadCloser
	ctx   context.Context
	end   context.CancelCauseFunc
	stall time.Duration
	timer *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(b.stall)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop() // the disk may take its time
	if err != nil && err != io.EOF {
		err = cmp.Or(context.Cause(b.ctx), err)
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	b.end(nil)
	return b.ReadCloser.Close()
}

// A temporaryError may pass by itself: the hub is busy, or a connection was cut.
type temporaryError struct{ error }

func (e *temporaryError) Unwrap() error { return e.error }

// retry tries until what went wrong will not pass by itself, or has been tried often enough
// in a row without progress.
func (c *Client) retry(ctx context.Context, file string, do func() (progress bool, err error)) error {
	attempts := cmp.Or(c.attempts, 5)
	for attempt := 1; ; attempt++ {
		progress, err := do()
		if progress {
			attempt = 1
		}
		if !errors.As(err, new(*temporaryError)) || ctx.Err() != nil || attempt >= attempts {
			return err
		}
		pause := cmp.Or(c.pause, time.Second) << min(attempt-1, 5)
		c.notify("%s: %v: trying again in %v (%d of %d)", file, err, pause, attempt, attempts-1)
		if err := sleep(ctx, pause); err != nil {
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

// unreached returns the error of a request without an answer, and the remedy.
func (c *Client) unreached(err error) error {
	if request := new(url.Error); errors.As(err, &request) {
		err = request.Err // without the address, which may hold a password
	}
	return fmt.Errorf("%s %w: %w; check the network, the proxy and HF_ENDPOINT, or copy the files here and name their directory",
		c.hub(), errUnreached, input.NetworkCause(err))
}

// status returns an error that explains a refusal.
func (c *Client) status(code int) error {
	err := c.unexpectedResponse("status: got %d %s", code, http.StatusText(code))
	switch {
	case code < 400:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%w (status %d): set HF_TOKEN to one that may read it, or check the name", ErrToken, code)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w (status %d): check the name", ErrNotFound, code)
	case code == http.StatusTooManyRequests:
		return &temporaryError{fmt.Errorf("the hub limits requests (status %d): try again later, or set HF_TOKEN", code)}
	case code >= 500:
		return &temporaryError{err}
	}
	return err
}

// notify passes a line on to Notice.
func (c *Client) notify(format string, args ...any) {
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}
