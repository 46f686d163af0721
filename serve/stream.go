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
	defaultKeepAlive = 15 * time.Second // proxies close a connection that is silent for a minute or less
	maxPending       = 8 << 20          // bytes that a client has not read
)

// errUnread ends a request whose client does not read.
var errUnread = errors.New("the client does not read its answer")

// A stream writes server-sent events in its own goroutine, so a slow reader holds a connection but does not block a
// turn.
type stream struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	cancel    context.CancelCauseFunc // of the request
	comment   func() string           // written when there is nothing else to write
	stall     time.Duration
	keepAlive time.Duration

	mu      sync.Mutex
	pending bytes.Buffer
	started bool
	ended   bool
	wake    chan struct{}
	closed  chan struct{}
}

func (s *Server) newStream(w http.ResponseWriter, cancel context.CancelCauseFunc, comment func() string) *stream {
	x := &stream{
		w: w, control: http.NewResponseController(w), cancel: cancel, comment: comment,
		stall: s.stall, keepAlive: s.keepAlive,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go s.safely(w.Header().Get(requestIDHeader), cancel, x.writePending)()
	return x
}

// start sends the headers and a comment.
func (x *stream) start() { x.add(": " + x.comment() + "\n\n") }

// event sends an event. Names and members are OpenAI's, except the event verity.progress, the member words
// of a segment, and language, duration, truncated and damaged of the last event.
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

// notify wakes writePending.
func (x *stream) notify() {
	select {
	case x.wake <- struct{}{}:
	default: // it will wake already
	}
}

// end waits until everything has been written, and reports whether there was anything. It may be called more than once.
func (x *stream) end() (started bool) {
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
	x.notify()
	<-x.closed
	return x.started
}

// hasStarted reports whether anything has been sent.
func (x *stream) hasStarted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.started
}

// writePending writes what events add, until the end of the stream, or an error.
func (x *stream) writePending() {
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
		if err := x.write(data); err != nil {
			x.cancel(fmt.Errorf("%w: %w", errUnread, err))
			return
		}
		tick.Reset(x.keepAlive)
	}
}

// write writes data in pieces. The client must read each before a stall is over.
func (x *stream) write(data []byte) error {
	for piece := range slices.Chunk(data, 32<<10) {
		x.control.SetWriteDeadline(time.Now().Add(x.stall))
		if _, err := x.w.Write(piece); err != nil {
			return err
		}
	}
	return x.control.Flush()
}
