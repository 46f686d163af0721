package serve

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"verity/internal/output"
)

const (
	readTime   = 30 * time.Second // for the rest of a refused request, or for a piece of a stream
	maxUploads = 8 << 30          // bytes of all uploads together, or MaxBytes, if that is larger
)

// smallerFile is what a client can do whose upload is too large.
const smallerFile = "convert it to Opus or MP3, which are ten times smaller than WAV, or ask the operator for more (max-upload)."

// An uploadStore stores uploads in files, with a limit for all of them together.
type uploadStore struct {
	dir   string // "" for that of the system
	limit int64  // bytes
	used  atomic.Int64
}

// An upload is the sound that a client uploads.
type upload struct {
	file  *output.Temp
	store *uploadStore
	size  int64
	limit int64
}

// create returns an empty file for at most limit bytes.
func (s *uploadStore) create(limit int64) (*upload, error) {
	f, err := output.NewTemp(s.dir, "verity-upload-*")
	if err != nil {
		return nil, serverError(http.StatusInsufficientStorage, "The upload cannot be kept: %v", errors.Unwrap(err))
	}
	return &upload{file: f, store: s, limit: limit}, nil
}

// Write appends sound. Its errors are problems.
func (f *upload) Write(b []byte) (int, error) {
	n := int64(len(b))
	if f.size+n > f.limit {
		return 0, clientError(http.StatusRequestEntityTooLarge, "file", "file_too_large",
			"The file has more than %s: %s", mebibytes(f.limit), smallerFile)
	}
	f.size += n
	if f.store.used.Add(n) > f.store.limit {
		return 0, rateLimited("uploads_full",
			"The server holds too many uploads at present: try again later.").withParam("file")
	}
	if _, err := f.file.Write(b); err != nil {
		return 0, serverError(http.StatusInsufficientStorage, "The upload cannot be kept: the disk is full or broken.")
	}
	return len(b), nil
}

// remove closes and removes the file.
func (f *upload) remove() {
	f.file.Close()
	f.store.used.Add(-f.size)
}

// A clientLimit limits the requests that a client has at the same time, from upload to answer, so that no client can
// fill the queue alone, however slowly it sends.
type clientLimit struct {
	max   int
	mu    sync.Mutex
	count map[string]int
}

// enter counts a request of a client, which ends with leave. A client without a name is not counted.
func (c *clientLimit) enter(client string) (leave func(), ok bool) {
	if client == "" {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[client] >= c.max {
		return nil, false
	}
	c.count[client]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.count[client]--; c.count[client] == 0 {
			delete(c.count, client)
		}
	}, true
}

// clientOf names the sender of a request: by the key if the server requires one, else by the address, or for IPv6 the
// network. This machine itself has no name, since a proxy may run on it.
func (s *Server) clientOf(r *http.Request) string {
	if s.opt.Keys != nil {
		return "key " + keyOf(r)
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	a, err := netip.ParseAddr(host)
	if err != nil || a.IsLoopback() {
		return ""
	}
	if a = a.Unmap(); a.Is6() {
		network, _ := a.WithZone("").Prefix(64)
		return network.String()
	}
	return a.String()
}

// clientAddress returns the address of host:port for the log; that of a unix socket is empty.
func clientAddress(remote string) string {
	host, _, _ := net.SplitHostPort(remote)
	return host
}
