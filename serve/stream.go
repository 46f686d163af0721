package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	defaultKeepAlive = 15 * time.Second // the most without a byte: proxies give up after a minute or less
	maxPending       = 8 << 20          // bytes that a client has not read
)

// errUnread ends a request whose client does not read.
var errUnread = errors.New("the client does not read its answer")

// A stream writes server-sent events in a goroutine of its own: who reads slowly holds a
// connection, but no turn.
type stream struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	cancel    context.CancelCauseFunc // of the request
	comment   func() string           // a comment for when nothing else is said
	stall     time.Duration
	keepAlive time.Duration

	mu      sync.Mutex
	pending bytes.Buffer
	started bool
	ended   bool
	wake    chan struct{}
	closed  chan struct{}
}

func (s *Server) newStream(w http.ResponseWriter, cancel context.CancelCauseFunc, beat func() string) *stream {
	x := &stream{
		w: w, control: http.NewResponseController(w), cancel: cancel, comment: beat, stall: s.stall, keepAlive: s.keepAlive,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go s.safely(w.Header().Get(requestIDHeader), cancel, x.run)()
	return x
}

// start has the headers sent, and a comment.
func (x *stream) start() { x.add(": " + x.comment() + "\n\n") }

// event sends an event. Names and members are OpenAI's, but for words, pieces, and the
// language and duration at the end.
func (x *stream) event(kind string, event object) {
	event["type"] = kind
	x.add("data: " + string(marshal(event)) + "\n\n")
}

func (x *stream) add(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.started = true
	if x.pending.Len()+len(text) > maxPending {
		x.cancel(errUnread)
		return
	}
	x.pending.WriteString(text)
	x.notify()
}

// signal wakes run.
func (x *stream) notify() {
	select {
	case x.wake <- struct{}{}:
	default: // it is to wake already
	}
}

// end returns when all has been written, and whether that was anything. It may be called
// again.
func (x *stream) end() (began bool) {
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
	x.notify()
	<-x.closed
	return x.started
}

// begun reports whether something is said.
func (x *stream) hasStarted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.started
}

// run writes until the end of the stream, or an error.
func (x *stream) run() {
	defer close(x.closed)
	tick := time.NewTicker(x.keepAlive)
	defer tick.Stop()
	head := false
	for last := false; !last; {
		select {
		case <-x.wake:
		case <-tick.C:
			x.start()
		}
		x.mu.Lock()
		last = x.ended
		data := bytes.Clone(x.pending.Bytes())
		x.pending.Reset()
		x.mu.Unlock()
		if len(data) == 0 {
			continue
		}
		if !head {
			head = true
			h := x.w.Header()
			h.Set("Content-Type", "text/event-stream")
			h.Set("Cache-Control", "no-store")
			h.Set("X-Accel-Buffering", "no") // proxies must not buffer
		}
		if err := x.writePieces(data); err != nil {
			x.cancel(fmt.Errorf("%w: %w", errUnread, err))
			return
		}
		tick.Reset(x.keepAlive)
	}
}

// write writes data in pieces, each of which the client must read before it has paused for too long.
func (x *stream) writePieces(data []byte) error {
	for piece := range slices.Chunk(data, 32<<10) {
		x.control.SetWriteDeadline(time.Now().Add(x.stall))
		if _, err := x.w.Write(piece); err != nil {
			return err
		}
	}
	return x.control.Flush()
}
