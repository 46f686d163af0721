package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// writeTime is for a client to read an answer: the page and refusals, which strangers get, too. Forms extend it by
// Options.Timeout, streams by every piece, and net/http takes it from WebSockets. There is no ReadTimeout, since it would
// cancel a request whose body has been read but whose model takes longer: parseForm and answerFirst limit reading.
const writeTime = 5 * time.Minute

// A startupHandler answers while the server is still loading.
type startupHandler struct {
	server  atomic.Pointer[Server]
	loading http.Handler // before there is one
}

func (h *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := h.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	defer answerFirst(w, r, readTime)()
	h.loading.ServeHTTP(w, r)
}

func answerLoading(w http.ResponseWriter, r *http.Request) {
	switch withKnownPath(r).URL.Path {
	case "/healthz":
		writeText(w, "ok\n")
	case "/health":
		writeUnready(w, "application/json", `{"status":"loading model"}`)
	case "/readyz":
		writeUnready(w, plainText, "loading the model")
	default:
		p := serverError(http.StatusServiceUnavailable, "The model is being loaded: try again soon.")
		p.Retry = true
		writeProblem(w, p)
	}
}

// Run listens at once and answers 503 until load returns. It allows the origins in o from the start. It serves until ctx
// ends, then finishes accepted requests for at most grace. listen serves connections until the http.Server is closed, as its method Serve does. If listen returns
// early, the context of load ends, and Run returns the error of listen.
func Run(ctx context.Context, o Options, load func(context.Context) (*Server, error), listen func(*http.Server) error,
	log *slog.Logger, grace time.Duration) error {
	h := startupHandler{loading: (&Server{opt: o}).checkOrigin(http.HandlerFunc(answerLoading))}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // HTTP/2 has no WebSockets here, and other limits
	server := &http.Server{
		Handler: &h, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: writeTime,
		IdleTimeout:    2 * time.Minute, // longer than clients keep a connection
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	loading, stopLoading := context.WithCancel(ctx)
	defer stopLoading()
	go func() {
		ended <- listen(server)
		stopLoading()
	}()
	s, err := load(loading)
	if err != nil {
		addressFailed := ctx.Err() == nil && loading.Err() != nil // before Close, which ends listen, too
		server.Close()
		if addressFailed {
			return <-ended
		}
		return err
	}
	h.server.Store(s)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	log.Info("shutting down", "working", s.queue.working(), "waiting", s.queue.waiting())
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for last.Err() == nil && s.inProgress.Load()+int64(s.sessions.open()) > 0 { // new requests still get an answer
		time.Sleep(20 * time.Millisecond)
	}
	server.Shutdown(last)
	s.sessions.endAll() // Shutdown does not wait for sessions
	s.sessions.active.Wait()
	if last.Err() != nil {
		server.Close()
		return fmt.Errorf("serve: requests were cut off after the grace period of %s", span(grace))
	}
	return nil
}

// checkInterval is the time between two checks of a file that may change. Only tests change it.
var checkInterval = 10 * time.Second

// A Reloader reads files again that have changed: certificates are renewed, keys are issued and revoked. It looks every
// 10 s, and at once on Reload. The zero value has no log.
type Reloader struct {
	Log *slog.Logger

	mu     sync.Mutex
	reload []func() // of each file
}

// Reload reads all files again, whether or not they have changed.
func (r *Reloader) Reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reload := range r.reload {
		reload()
	}
}

// watchFiles returns a function that returns the value of files, after reading them again if they have changed. If that
// fails, the last value stays in use, unless gone accepts the error: then the value is the zero value.
func watchFiles[T any](
	r *Reloader, read func() (T, error), gone func(error) bool, names ...string,
) (get func() T, err error) {
	var mu sync.Mutex
	var value T
	var modified []time.Time
	var checked time.Time
	var last string // the last error
	load := func(force bool) error {
		checked = time.Now()
		var now []time.Time
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				return err
			}
			now = append(now, st.ModTime())
		}
		if !force && slices.Equal(now, modified) {
			return nil
		}
		modified = nil
		v, err := read()
		if err == nil {
			value, modified = v, now
		}
		return err
	}
	log := cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	check := func(force bool) {
		err := load(force)
		switch {
		case err == nil:
			last = ""
			return
		case err.Error() == last: // the log has it
			return
		case gone != nil && gone(err):
			value, modified = *new(T), nil
			log.Warn("a file is empty or gone: what it held is no longer valid", "files", names)
		default:
			log.Error("a file cannot be read again: its last content stays in use", "files", names, "error", err)
		}
		last = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reload = append(r.reload, func() {
		mu.Lock()
		defer mu.Unlock()
		check(true)
	})
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(checked) >= checkInterval {
			check(false)
		}
		return value
	}, load(true)
}

// ErrNoKeys is the error of a file of API keys that has none.
var ErrNoKeys = errors.New("there is no key in it: want one a line")

// Keys returns a function for [Options.Keys] with the API keys that read finds in a file. Once the file is removed or
// has no keys, which read reports as [ErrNoKeys], no key is valid.
func (r *Reloader) Keys(file string, read func() ([]Key, error)) (func() []Key, error) {
	gone := func(err error) bool { return errors.Is(err, ErrNoKeys) || errors.Is(err, fs.ErrNotExist) }
	return watchFiles(r, read, gone, file)
}

// tlsError names the file that is no certificate or key.
func tlsError(err error, cert, key string) error {
	if err == nil || errors.As(err, new(*fs.PathError)) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "tls: ")
	switch {
	case strings.Contains(text, "certificate input"):
		return fmt.Errorf("%s: holds no certificate; want one in PEM", cert)
	case strings.Contains(text, "key input") || strings.Contains(text, "private key"):
		return fmt.Errorf("%s: holds no private key in PEM that belongs to %s", key, cert)
	}
	return fmt.Errorf("%s: %s", cert, text)
}

// TLS returns the configuration for a certificate and a key in PEM files.
func (r *Reloader) TLS(cert, key string) (*tls.Config, error) {
	get, err := watchFiles(r, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, tlsError(err, cert, key)
	}, nil, cert, key)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // for WebSockets
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil },
	}, err
}
