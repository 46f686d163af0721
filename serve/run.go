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
)

// A gate answers while the server behind it is being loaded.
type gate struct{ server atomic.Pointer[Server] }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := g.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	r, end := bound(w, r, stall)
	defer end()
	switch {
	case r.URL.Path == "/healthz":
		writeText(w, "ok\n")
	case r.URL.Path == "/readyz":
		unready(w, "loading the model")
	default:
		p := failed(http.StatusServiceUnavailable, "The model is being loaded: try again soon.")
		p.Retry = 2 * time.Second
		writeProblem(w, p)
	}
}

// Run answers requests until ctx ends, and then finishes accepted requests for at most
// grace. It begins to listen before load, which makes the server, has returned.
func Run(ctx context.Context, load func() (*Server, error), listen func(*http.Server) error, log *slog.Logger, grace time.Duration) error {
	var g gate
	server := &http.Server{
		Handler: &g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
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
	log.Info("shutting down", "working", s.line.working(), "waiting", s.line.waiting())
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for last.Err() == nil && s.inHand.Load()+int64(s.sockets.open()) > 0 { // probes and clients are told meanwhile
		time.Sleep(20 * time.Millisecond)
	}
	err = server.Shutdown(last)
	if s.sockets.open() > 0 { // for which it does not wait
		err = cmp.Or(err, last.Err())
		s.sockets.giveUp()
		s.sockets.all.Wait()
	}
	if err != nil {
		return errors.Join(errors.New("serve: requests were given up at the end of the grace period"), server.Close())
	}
	return nil
}

// A fresh value is read again when its files change: certificates are renewed every few
// weeks, keys are handed out and taken back.
type fresh[T any] struct {
	names []string
	read  func() (T, error)
	log   *slog.Logger
	every time.Duration // between two looks

	mu     sync.Mutex
	value  T
	state  []time.Time // when the files were written
	looked time.Time
}

func newFresh[T any](log *slog.Logger, read func() (T, error), names ...string) (*fresh[T], error) {
	f := &fresh[T]{names: names, read: read, log: log, every: 10 * time.Second}
	return f, f.look()
}

// get returns the value. If the files have changed to something unusable, the log says
// so, and what was read before stays in use.
func (f *fresh[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= f.every {
		if err := f.look(); err != nil {
			f.log.Error("a file cannot be read again: what it held before stays in use", "error", err)
		}
	}
	return f.value
}

// look reads the files if they have changed. A pipe is read once.
func (f *fresh[T]) look() error {
	f.looked = time.Now()
	var state []time.Time
	for _, name := range f.names {
		st, err := os.Stat(name)
		switch {
		case err != nil:
			return err
		case st.Mode().IsRegular():
			state = append(state, st.ModTime())
		default:
			state = append(state, time.Time{})
		}
	}
	if slices.Equal(state, f.state) {
		return nil
	}
	value, err := f.read()
	if err == nil {
		f.value, f.state = value, state
	}
	return err
}

// Keys returns the API keys that read finds in a file, which is read again when it changes.
func Keys(file string, read func() ([]string, error), log *slog.Logger) (func() []string, error) {
	f, err := newFresh(log, read, file)
	return f.get, err
}

// TLS returns the configuration for a certificate and a key in PEM files, which are read
// again when they change.
func TLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	f, err := newCertificate(cert, key, log)
	return secured(f), err
}

func newCertificate(cert, key string, log *slog.Logger) (*fresh[*tls.Certificate], error) {
	return newFresh(log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", cert, key, err)
		}
		return &pair, err
	}, cert, key)
}

func secured(f *fresh[*tls.Certificate]) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // which WebSockets need
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.get(), nil },
	}
}
