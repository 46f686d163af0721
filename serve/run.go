package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A startupHandler answers while the server is still loading.
type startupHandler struct{ server atomic.Pointer[Server] }

func (h *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := h.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	r, end := withDeadlines(w, r, defaultStall)
	defer end()
	switch withKnownPath(r).URL.Path {
	case "/healthz":
		writeText(w, "ok\n")
	case "/health":
		writeHealth(w, "loading model")
	case "/readyz":
		writeUnready(w, "loading the model")
	default:
		p := serverError(http.StatusServiceUnavailable, "The model is being loaded: try again soon.")
		p.Retry = true
		writeProblem(w, p)
	}
}

// Run listens at once and answers 503 until load returns. It serves until ctx ends, then finishes accepted requests for
// at most grace. listen serves connections until the http.Server is closed, as its method Serve does. If listen returns
// early, Run returns its error, but not before load has returned.
func Run(ctx context.Context, load func() (*Server, error), listen func(*http.Server) error, log *slog.Logger,
	grace time.Duration) error {
	var h startupHandler
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // HTTP/2 has no WebSockets here, and other limits
	server := &http.Server{
		Handler: &h, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- listen(server) }()
	s, err := load()
	if err != nil {
		server.Close()
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

// reloaded returns a function that returns the value read from files, and reads them again when they have changed:
// certificates are renewed, keys are issued and revoked. If that fails, the log has the error and the last value
// stays in use.
func reloaded[T any](log *slog.Logger, read func() (T, error), names ...string) (get func() T, err error) {
	var mu sync.Mutex
	var value T
	var modified []time.Time
	var checked time.Time
	check := func() error {
		checked = time.Now()
		var now []time.Time
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				return err
			}
			now = append(now, st.ModTime())
		}
		if slices.Equal(now, modified) {
			return nil
		}
		v, err := read()
		if err == nil {
			value, modified = v, now
		}
		return err
	}
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(checked) >= checkInterval {
			if err := check(); err != nil {
				log.Error("a file cannot be read again: its last content stays in use", "files", names, "error", err)
			}
		}
		return value
	}, check()
}

// Keys returns a function for [Options.Keys] with the API keys that read finds in a file. They are read again when the
// file changes.
func Keys(file string, read func() ([]string, error), log *slog.Logger) (func() []string, error) {
	return reloaded(log, read, file)
}

// TLS returns the configuration for a certificate and a key in PEM files. They are read again when they change.
func TLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	get, err := reloaded(log, func() (*tls.Certificate, error) {
		//verity:reads files that the owner of the server chose
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}, cert, key)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // for WebSockets
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil },
	}, err
}
