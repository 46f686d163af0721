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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"verity/internal/input"
)

// writeTime is for a client to read an answer: the page and refusals, which strangers get, too. Forms extend it by
// Options.Timeout, streams by every piece, and net/http takes it from WebSockets. There is no ReadTimeout, since it would
// cancel a request whose body has been read but whose model takes longer: parseForm and answerFirst limit reading.
const writeTime = 5 * time.Minute

// A startupHandler answers while the server is still loading.
type startupHandler struct {
	server  atomic.Pointer[Server]
	loading http.Handler // before there is one
	ids     *Server      // what numbers requests then
}

func (h *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := h.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	w.Header().Set(requestIDHeader, h.ids.requestID(r))
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
	starting := &Server{opt: o, created: time.Now()}
	h := startupHandler{loading: starting.checkOrigin(http.HandlerFunc(answerLoading)), ids: starting}
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

// A Reloader reads files again on Reload: certificates are renewed, keys are issued and revoked. The zero value has no log.
type Reloader struct {
	Log *slog.Logger

	mu     sync.Mutex
	reload []func() // of each file
}

// Reload reads all files again.
func (r *Reloader) Reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reload := range r.reload {
		reload()
	}
}

// reloaded returns a function that returns what read returned last. If it fails on Reload, the last value stays in use,
// unless gone accepts the error: then the value is the zero value.
func reloaded[T any](r *Reloader, file string, read func() (T, error), gone func(error) bool) (get func() T, err error) {
	first, err := read()
	var last atomic.Pointer[T]
	last.Store(&first)
	log := cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reload = append(r.reload, func() {
		value, err := read()
		switch {
		case err == nil:
			last.Store(&value)
		case gone(err):
			last.Store(new(T))
			log.Warn("a file is empty or gone: what it held is no longer valid", "file", file)
		default:
			log.Error("a file cannot be read again: its last content stays in use", "file", file, "error", err)
		}
	})
	return func() T { return *last.Load() }, err
}

// ErrNoKeys is the error of a file of API keys that has none.
var ErrNoKeys = errors.New("there is no key in it: want one a line")

// Keys returns a function for [Options.Keys] with the API keys that read finds in a file. If the file is gone or has no
// keys on Reload, which read reports as [ErrNoKeys], no key is valid.
func (r *Reloader) Keys(file string, read func() ([]Key, error)) (func() []Key, error) {
	gone := func(err error) bool { return errors.Is(err, ErrNoKeys) || errors.Is(err, fs.ErrNotExist) }
	return reloaded(r, file, read, gone)
}

// tlsError names the file that is no certificate or key.
func tlsError(err error, cert, key string) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", p.Path, input.Cause(p))
	}
	text := strings.TrimPrefix(err.Error(), "tls: ")
	switch {
	case strings.Contains(text, "certificate input"):
		return fmt.Errorf("%s: holds no certificate", cert)
	case strings.Contains(text, "key input") || strings.Contains(text, "private key"):
		return fmt.Errorf("%s: holds no private key that belongs to %s", key, cert)
	}
	return fmt.Errorf("%s: %s", cert, text)
}

// TLS returns the configuration for a certificate and a key in PEM files.
func (r *Reloader) TLS(cert, key string) (*tls.Config, error) {
	get, err := reloaded(r, cert, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, tlsError(err, cert, key)
	}, func(error) bool { return false })
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // for WebSockets
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil },
	}, err
}
