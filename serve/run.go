package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"verity/internal/input"
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
	switch r.URL.Path {
	case "/healthz":
		writeText(w, "ok\n")
	case "/readyz":
		writeUnready(w, "loading the model")
	default:
		p := serverError(http.StatusServiceUnavailable, "The model is being loaded: try again soon.")
		p.Retry = 2 * time.Second
		writeProblem(w, p)
	}
}

// Run answers requests until ctx ends, and then finishes accepted requests for at most grace. It listens before load,
// which makes the server, has returned.
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
	for last.Err() == nil && s.inHand.Load()+int64(s.sessions.open()) > 0 { // /readyz and new requests still get an answer
		time.Sleep(20 * time.Millisecond)
	}
	err = server.Shutdown(last)
	if s.sessions.open() > 0 { // Shutdown does not wait for them
		err = cmp.Or(err, last.Err())
		s.sessions.endAll()
		s.sessions.active.Wait()
	}
	if err != nil {
		log.Error("requests were given up at the end of the grace period", "grace", grace)
		return errors.Join(errors.New("serve: requests were given up at the end of the grace period"), server.Close())
	}
	return nil
}

// checkInterval is the time between two checks of a file that may change.
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
			at := time.Time{} // a pipe is read once
			if st.Mode().IsRegular() {
				at = st.ModTime()
			}
			now = append(now, at)
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
				log.Error("a file cannot be read again: what it held before stays in use", "error", err)
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

// maxPEM is the size of the largest file of certificates or of a key.
const maxPEM = 1 << 20

// TLS returns the configuration for a certificate and a key in PEM files. They are read again when they change.
func TLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	readPEM := func(name string) ([]byte, error) { // tls.LoadX509KeyPair would wait for the writer of a pipe
		data, err := input.Read(context.Background(), name, maxPEM)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return data, err
	}
	get, err := reloaded(log, func() (*tls.Certificate, error) {
		chain, err := readPEM(cert)
		if err != nil {
			return nil, err
		}
		private, err := readPEM(key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(chain, private)
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", cert, key, err)
		}
		return &pair, err
	}, cert, key)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // for WebSockets
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil },
	}, err
}
