package serve

import (
	"cmp"
	"errors"
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
	chunkBytes  = 64 << 10
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

// take reserves n bytes; nil if there is room.
func (s *spool) take(n int64) *problem {
	if s.used.Add(n) > s.room {
		s.used.Add(-n)
		return full("spool_full", 10*time.Second, "The server holds too many uploads at present: try again later.").of("file")
	}
	return nil
}

// file returns a new file, and how to give it up. Where an open file may be unlinked, it
// is unlinked now: then it cannot be left behind, however the process ends.
func (s *spool) file() (f *os.File, done func(), err error) {
	f, err = os.CreateTemp(s.dir, spoolName)
	if err != nil {
		return nil, nil, err
	}
	left := os.Remove(f.Name()) != nil
	return f, func() {
		f.Close()
		if left {
			os.Remove(f.Name())
		}
	}, nil
}

// clear removes what a process that was killed has left, where files that are in use
// cannot be removed. Elsewhere nothing is left.
func (s *spool) clear(system string) {
	if system != "windows" {
		return
	}
	left, _ := filepath.Glob(filepath.Join(cmp.Or(s.dir, os.TempDir()), spoolName))
	for _, name := range left {
		os.Remove(name)
	}
}

func newSpool(dir string, room int64) *spool {
	s := &spool{dir: dir, room: room}
	s.clear(runtime.GOOS)
	return s
}

// An intake counts the uploads that are read at the same time. They take no places in the
// line: those who send slowly keep nobody else from working.
type intake struct {
	mu   sync.Mutex
	open []*upload
}

// An upload is a form that is being read.
type upload struct {
	control *http.ResponseController
	began   time.Time
	end     time.Time // of the request
	stall   time.Duration

	mu    sync.Mutex
	bytes int64
	lost  bool // its place was needed
	due   time.Time
	timer *time.Timer // nil after the last read
}

// enter admits an upload. If there are too many, the slowest of those that are too slow
// loses its place.
func (in *intake) enter(u *upload) *problem {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.open) >= mostUploads {
		slowest := slices.MinFunc(in.open, func(a, b *upload) int { return int(a.rate() - b.rate()) })
		if slowest.rate() >= leastRate {
			return full("rate_limit_exceeded", 10*time.Second, "Too many files are being uploaded: try again later.")
		}
		slowest.mu.Lock()
		slowest.lost = true
		slowest.control.SetReadDeadline(time.Unix(1, 0))
		slowest.mu.Unlock()
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

// wait bounds the next read: a client that sends a byte a minute would hold a place for
// days. A timer does, and not a deadline of the connection, which would also end those
// whose bytes came while this process was stopped.
func (u *upload) wait() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	rate := u.began.Add(u.stall + time.Duration(u.bytes)*time.Second/leastRate)
	u.arm(slices.MinFunc([]time.Time{now.Add(u.stall), rate, u.end}, time.Time.Compare), now)
}

// arm has expire called when time is due. u.mu is held.
func (u *upload) arm(due, now time.Time) {
	if u.due = due; due.Before(now) {
		u.due = now
	}
	u.timer.Reset(u.due.Sub(now))
}

// expire ends the read that waits. If it is called late, neither this process nor perhaps
// the client has run meanwhile: that time does not count.
func (u *upload) expire() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	switch late := now.Sub(u.due); {
	case u.timer == nil || late < 0: // there was a read meanwhile
	case late > min(time.Second, u.stall/2) && now.Before(u.end):
		u.began = u.began.Add(late)
		u.arm(now.Add(u.stall), now)
	default:
		u.control.SetReadDeadline(time.Unix(1, 0))
	}
}

// read records that no more will be read.
func (u *upload) read() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.timer.Stop()
	u.timer = nil
}

// add counts bytes that were read.
func (u *upload) add(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += int64(n)
}

// late returns why a read of u came to no end in time.
func (u *upload) late() *problem {
	u.mu.Lock()
	defer u.mu.Unlock()
	const status = http.StatusRequestTimeout
	switch now := time.Now(); {
	case u.lost:
		return wrong(status, "", "", "The upload was slower than %d bytes a second, and its place was needed.", leastRate)
	case !now.Before(u.end):
		return wrong(status, "", "", "The upload took longer than %s, which is the limit of this server.", span(u.end.Sub(u.began).Round(time.Second)))
	case now.Sub(u.began) > u.stall+time.Duration(u.bytes)*time.Second/leastRate:
		return wrong(status, "", "", "The upload is slower than %d bytes a second.", leastRate)
	}
	return wrong(status, "", "", "No data came for %s.", span(u.stall))
}

// tooSlow reports that a read came to no end in time.
func tooSlow(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

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

// clientOf names who sends a request: by the key, else by the address, of IPv6 the
// network. This machine itself, on which a proxy may be, has no name.
func clientOf(r *http.Request) string {
	if key := givenKey(r); key != "" {
		return "key " + key
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
