package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A gate answers while the server behind it is being loaded.
type gate struct{ server atomic.Pointer[Server] }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch s := g.server.Load(); {
	case s != nil:
		s.ServeHTTP(w, r)
	case r.URL.Path == "/healthz":
		writeText(w, "ok\n")
	case r.URL.Path == "/readyz":
		w.WriteHeader(http.StatusServiceUnavailable)
		writeText(w, "loading the model\n")
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
	time.Sleep(s.opt.DrainDelay)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = errors.Join(server.Shutdown(last), s.sockets.wait(last)) // Shutdown does not wait for sockets
	if err != nil {
		return errors.Join(errors.New("serve: requests were given up at the end of the grace period"), server.Close())
	}
	return nil
}

// Serve is Run with a server that is there.
func Serve(ctx context.Context, s *Server, listen func(*http.Server) error, grace time.Duration) error {
	return Run(ctx, func() (*Server, error) { return s, nil }, listen, s.opt.Log, grace)
}

// A certificate is read again when its files change: they are renewed every few weeks.
type certificate struct {
	cert, key string
	log       *slog.Logger
	every     time.Duration // between two looks

	mu      sync.Mutex
	pair    *tls.Certificate
	changed [2]time.Time // when the files were written
	looked  time.Time
}

// TLS returns the configuration for a certificate and a key in PEM files. If they change
// to something unusable, the log says so, and what was read before stays in use.
func TLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key, log: log, every: 10 * time.Second}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.config(), nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // which WebSockets need
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if time.Since(c.looked) >= c.every {
				if err := c.read(); err != nil {
					c.log.Error("the certificate cannot be read: the one before stays in use", "error", err)
				}
			}
			return c.pair, nil
		},
	}
}

// read reads the files if they have changed.
func (c *certificate) read() error {
	c.looked = time.Now()
	var changed [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		st, err := os.Stat(name)
		if err != nil {
			return err
		}
		if changed[i] = st.ModTime(); !st.Mode().IsRegular() {
			return fmt.Errorf("%s: is no file", name)
		}
	}
	if c.pair != nil && changed == c.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", c.cert, c.key, err)
	}
	c.pair, c.changed = &pair, changed
	return nil
}
