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

// A gate answers while the server behind it is being loaded.
type startupHandler struct{ server atomic.Pointer[Server] }

func (g *startupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := g.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	r, end := withDeadlines(w, r, defaultStall)
	defer end()
	switch {
	case r.URL.Path == "/healthz":
		writeText(w, "ok\n")
	case r.URL.Path == "/readyz":
		unready(w, "loading the model")
	default:
		p := serverError(http.StatusServiceUnavailable, "The model is being loaded: try again soon.")
		p.Retry = 2 * time.Second
		writeProblem(w, p)
	}
}

// Run answers requests until ctx ends, and then finishes accepted requests for at most
// grace. It begins to listen before load, which makes the server, has returned.
func Run(ctx context.Context, load func() (*Server, error), listen func(*http.Server) error, log *slog.Logger, grace time.Duration) error {
	var g startupHandler
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // not HTTP/2, which has no WebSockets here, and other limits
	server := &http.Server{
		Handler: &g, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- listen(server) }()
	s, err := load()
	if err != nil {
		server.Close()
		return err
	}
	g.server.Store(s)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	log.Info("shutting down", "working", s.queue.working(), "waiting", s.queue.waiting())
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for last.Err() == nil && s.inHand.Load()+int64(s.sessions.open()) > 0 { // probes and clients are told meanwhile
		time.Sleep(20 * time.Millisecond)
	}
	err = server.Shutdown(last)
	if s.sessions.open() > 0 { // for which it does not wait
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

// lookEvery is the time between two looks at a file that may change.
var checkInterval = 10 * time.Second

// fresh returns a function of what read finds in files, which are read again when they change:
// certificates are renewed every few weeks, keys are handed out and taken back. If they have
// changed to something unusable, the log says so, and what was read before stays in use.
func reloaded[T any](log *slog.Logger, read func() (T, error), names ...string) (get func() T, err error) {
	var mu sync.Mutex
	var value T
	var written []time.Time
	var looked time.Time
	look := func() error {
		looked = time.Now()
		var now []time.Time
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				return err
			}
			at := time.Time{} // of a pipe, which is read once
			if st.Mode().IsRegular() {
				at = st.ModTime()
			}
			now = append(now, at)
		}
		if slices.Equal(now, written) {
			return nil
		}
		v, err := read()
		if err == nil {
			value, written = v, now
		}
		return err
	}
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(looked) >= checkInterval {
			if err := look(); err != nil {
				log.Error("a file cannot be read again: what it held before stays in use", "error", err)
			}
		}
		return value
	}, look()
}

// Keys returns the API keys that read finds in a file, which is read again when it changes.
func Keys(file string, read func() ([]string, error), log *slog.Logger) (func() []string, error) {
	return reloaded(log, read, file)
}

// mostPEM bounds a file of certificates or of a key.
const maxPEM = 1 << 20

// TLS returns the configuration for a certificate and a key in PEM files, which are read
// again when they change.
func TLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	get, err := reloaded(log, func() (*tls.Certificate, error) {
		chain, err := input.Read(context.Background(), cert, maxPEM) // tls would wait for the writer of a pipe
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cert, err)
		}
		private, err := input.Read(context.Background(), key, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		pair, err := tls.X509KeyPair(chain, private)
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", cert, key, err)
		}
		return &pair, err
	}, cert, key)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // which WebSockets need
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil },
	}, err
}
