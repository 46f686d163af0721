package serve

import (
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	stall       = 30 * time.Second // the most between two pieces of an upload, or of an answer
	leastRate   = 1000             // bytes a second of an upload, on average, after the time of a stall
	mostUploads = 128              // at the same time
	mostSpool   = 8 << 30          // bytes of all uploads together; more if one may have more
	spoolName   = "verity-upload-*"
)

// A spool keeps uploads in files, up to so many bytes in all.
type spool struct {
	dir  string
	room int64
	used atomic.Int64
}

func newSpool(dir string, room int64) *spool {
	s := &spool{dir: dir, room: room}
	s.clear(runtime.GOOS)
	return s
}

// clear removes what a process that was killed has left, where files that are in use
// cannot be removed. Elsewhere nothing is left.
func (s *spool) clear(system string) {
	if system != "windows" {
		return
	}
	left, _ := filepath.Glob(filepath.Join(cmp.Or(s.dir, os.TempDir()), spoolName))
	for _, name := range left {
		//verity:writes files of an earlier run with the spool's name and no owner
		os.Remove(name)
	}
}

// A spooled sound is what a client has uploaded.
type spooled struct {
	spool *spool
	file  *os.File
	named bool // it must be removed at the end
	size  int64
	most  int64
}

// file returns an empty file, for at most so many bytes. Where an open file may be unlinked,
// it is unlinked now: then it cannot be left behind, however the process ends.
func (s *spool) file(most int64) (*spooled, error) {
	//verity:writes a new file with a random name
	f, err := os.CreateTemp(s.dir, spoolName)
	if err != nil {
		return nil, failed(http.StatusInsufficientStorage, "The upload cannot be kept: %v", errors.Unwrap(err))
	}
	return &spooled{spool: s, file: f, named: os.Remove(f.Name()) != nil, most: most}, nil
}

// Write adds sound. Its errors are problems.
func (f *spooled) Write(b []byte) (int, error) {
	n := int64(len(b))
	if f.size+n > f.most {
		return 0, wrong(http.StatusRequestEntityTooLarge, "file", "", "The file has more than %d bytes, which is the limit of this server.", f.most)
	}
	f.size += n
	if f.spool.used.Add(n) > f.spool.room {
		return 0, full("spool_full", 10*time.Second, "The server holds too many uploads at present: try again later.").of("file")
	}
	if _, err := f.file.Write(b); err != nil {
		return 0, failed(http.StatusInsufficientStorage, "The upload cannot be kept: the disk is full or broken.")
	}
	return len(b), nil
}

// close gives up the file.
func (f *spooled) close() {
	f.file.Close()
	if f.named {
		//verity:writes the file that spool.file created
		os.Remove(f.file.Name())
	}
	f.spool.used.Add(-f.size)
}

// An intake counts the uploads that are read at the same time. They take no places in the
// line: those who send slowly keep nobody else from working.
type intake struct {
	mu   sync.Mutex
	open []*upload
}

// enter admits an upload. If there are too many, the slowest of those that are too slow
// loses its place.
func (in *intake) enter(u *upload) *problem {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.open) >= mostUploads {
		slowest := slices.MinFunc(in.open, func(a, b *upload) int { return cmp.Compare(a.rate(), b.rate()) })
		if slowest.rate() >= leastRate {
			return full("rate_limit_exceeded", 10*time.Second, "Too many files are being uploaded: try again later.")
		}
		slowest.lose()
		in.remove(slowest)
	}
	in.open = append(in.open, u)
	return nil
}

func (in *intake) size() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.open)
}

func (in *intake) leave(u *upload) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.remove(u)
}

func (in *intake) remove(u *upload) {
	in.open = slices.DeleteFunc(in.open, func(o *upload) bool { return o == u })
}

// An upload is the body of a form. Every read of it has a time: a client that sends a byte a
// minute would hold a place for days.
type upload struct {
	io.ReadCloser
	control *http.ResponseController
	end     time.Time // of the request
	stall   time.Duration
	most    int64 // bytes
	head    int64 // of them, where the headers of a part must have ended; 0 in its content

	mu    sync.Mutex
	began time.Time
	bytes int64
	lost  bool // its place was needed

	stopped bool  // together with its client, who goes on
	failed  error // of a read that had the end of the form too: net/http has given up the request
}

// Read ends with a problem if the body is too slow or too large.
func (u *upload) Read(b []byte) (int, error) {
	if u.head > 0 && u.bytes >= u.head {
		return 0, wrong(http.StatusBadRequest, "", "", "The form has more than %d bytes before a part, its headers included, "+
			"or its boundary is not the one of the header Content-Type.", mostHead)
	}
	for {
		due, p := u.due()
		if p != nil {
			return 0, p
		}
		n, err := u.ReadCloser.Read(b)
		now := time.Now()
		u.mu.Lock()
		u.bytes += int64(n)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		switch by := now.Sub(due); {
		case by > time.Second && now.Before(u.end): // neither this process nor perhaps the client has run meanwhile
			u.began, u.stopped = u.began.Add(by+u.stall), u.stopped || late
		case !u.lost && (late || err != nil && err != io.EOF && by >= 0): // of late trailers net/http says something else
			err = u.slow(now)
			u.failed = err
		}
		over := u.bytes > u.most
		u.mu.Unlock()
		if over {
			return 0, u.large()
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

func (u *upload) large() *problem {
	return wrong(http.StatusRequestEntityTooLarge, "", "", "The form has more than %d bytes, which is the limit of this server.", u.most)
}

// due sets when the next read must have come to its end. It refuses those that have lost their
// place.
func (u *upload) due() (due time.Time, p *problem) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lost {
		return due, wrong(http.StatusRequestTimeout, "", "", "The upload was slower than %d bytes a second, and its place was needed.", leastRate)
	}
	due = slices.MinFunc([]time.Time{time.Now().Add(u.stall), u.slowest(), u.end}, time.Time.Compare)
	u.control.SetReadDeadline(due)
	return due, nil
}

// slowest is when the bytes so far would have come at the least rate.
func (u *upload) slowest() time.Time {
	return u.began.Add(u.stall + time.Duration(u.bytes)*time.Second/leastRate)
}

// slow returns why a read came to no end in time.
func (u *upload) slow(now time.Time) *problem {
	const status = http.StatusRequestTimeout
	switch {
	case !now.Before(u.end):
		return wrong(status, "", "", "The upload took longer than %s, which is the limit of this server.", span(u.end.Sub(u.began).Round(time.Second)))
	case !now.Before(u.slowest()):
		return wrong(status, "", "", "The upload is slower than %d bytes a second.", leastRate)
	}
	return wrong(status, "", "", "No data came for %s.", span(u.stall))
}

// rate is in bytes a second. One that has just begun is fast.
func (u *upload) rate() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	took := time.Since(u.began)
	if took < u.stall/10 {
		return leastRate
	}
	return float64(u.bytes) / took.Seconds()
}

// lose ends an upload whose place is needed.
func (u *upload) lose() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lost = true
	u.control.SetReadDeadline(time.Unix(1, 0))
}

// A crowd counts the requests of each client, from upload to answer. Clients on this machine
// without a key are not counted: they may be a proxy.
type crowd struct {
	most  int // of one client
	mu    sync.Mutex
	count map[string]int
}

// enter counts a request of a client; leave ends it.
func (c *crowd) enter(client string) (leave func(), ok bool) {
	if client == "" {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[client] >= c.most {
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

// clientOf names who sends a request: by the key, if the server has any, else by the address, of
// IPv6 the network. This machine itself, on which a proxy may be, has no name.
func (s *Server) clientOf(r *http.Request) string {
	if s.opt.Keys != nil {
		return "key " + givenKey(r)
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
