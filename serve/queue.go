package serve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// queueFull returns the problem that no more requests may wait.
func queueFull() *problem {
	return rateLimited("rate_limit_exceeded", "Too many requests are waiting: try again later.")
}

// A queue grants a number of requests a turn at the same time; others wait in order of arrival. Between windows
// a long request yields to much shorter ones. Live passes are short and urgent, so they get every other turn.
type queue struct {
	limit int // tickets
	turns int

	mu       sync.Mutex
	tickets  int       // of requests, with a turn or waiting
	active   int       // turns in use, by requests and live passes
	files    []*ticket // waiting requests
	live     []*ticket // waiting passes; the number of sessions limits them
	liveLast bool      // the last turn went to a live pass
}

// A ticket is a request, or a live pass, in the queue.
type ticket struct {
	turn    chan struct{} // closed once it has a turn; nil if it neither has nor awaits one
	windows int           // that are left: each costs much the same, whether full or not
}

const (
	windowSeconds = 30.0
	negligible    = 0.1 // seconds that are left: the end of a clip, not a window
)

// windowsOf returns how many windows some seconds of sound have.
func windowsOf(seconds float64) int {
	return max(int(math.Ceil((seconds-negligible)/windowSeconds)), 0)
}

func newQueue(turns, waiting int) *queue {
	return &queue{limit: turns + waiting, turns: turns}
}

// full reports whether a request would be refused now.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tickets >= q.limit
}

// join returns a ticket for a request with some seconds of sound, unless the queue is full. It does not wait. The
// caller calls leave.
func (q *queue) join(seconds float64) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tickets >= q.limit {
		return nil, queueFull()
	}
	q.tickets++
	return &ticket{windows: windowsOf(seconds)}, nil
}

// leave ends a request, and its turn if it has one.
func (q *queue) leave(t *ticket) {
	q.endTurn(t)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tickets--
}

// requestTurn appends t to a list of tickets that want a turn, and reports whether it has to wait. The caller calls
// wait.
func (q *queue) requestTurn(list *[]*ticket, t *ticket) (waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*list = append(*list, t)
	t.turn = make(chan struct{})
	q.grantTurns()
	return slices.Contains(*list, t)
}

// liveTurn waits for the turn of one pass of a realtime session, which does not count as a request. Calling end ends
// the turn.
func (q *queue) liveTurn(ctx context.Context) (end func(), err error) {
	t := new(ticket)
	q.requestTurn(&q.live, t)
	if err := q.wait(ctx, t); err != nil {
		return nil, err
	}
	return func() { q.endTurn(t) }, nil
}

// wait returns when t has the turn that it requested. After an error t has none.
func (q *queue) wait(ctx context.Context, t *ticket) error {
	select {
	case <-t.turn:
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-t.turn: // it was granted at the same time
		q.release(t)
		q.grantTurns()
	default:
		same := func(other *ticket) bool { return other == t }
		q.files, q.live = slices.DeleteFunc(q.files, same), slices.DeleteFunc(q.live, same)
		t.turn = nil
	}
	return context.Cause(ctx)
}

// grantTurns grants free turns to waiting tickets. The caller holds the lock.
func (q *queue) grantTurns() {
	for q.active < q.turns && len(q.files)+len(q.live) > 0 {
		from := &q.files
		if q.liveLast = len(q.files) == 0 || len(q.live) > 0 && !q.liveLast; q.liveLast {
			from = &q.live
		}
		t := (*from)[0]
		*from = slices.Delete(*from, 0, 1)
		q.active++
		close(t.turn)
	}
}

// endTurn ends the turn of t, if it has one.
func (q *queue) endTurn(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.turn == nil {
		return
	}
	q.release(t)
	q.grantTurns()
}

// release frees the turn of t. The caller holds the lock.
func (q *queue) release(t *ticket) {
	q.active--
	t.turn = nil
}

// yield records that t has left seconds of sound to transcribe, after a window. If a live pass waits, or a request with
// less than half as many windows, t gives up its turn and waits for another: after these requests, before all others.
// After an error t has no turn. A request with nothing left keeps its turn, since it is about to end.
func (q *queue) yield(ctx context.Context, t *ticket, left float64) error {
	q.mu.Lock()
	t.windows = windowsOf(left)
	short := func(other *ticket) bool { return 2*other.windows < t.windows }
	if t.windows == 0 || t.turn == nil || len(q.live) == 0 && !slices.ContainsFunc(q.files, short) {
		q.mu.Unlock()
		return nil
	}
	q.release(t)
	first, rest := []*ticket(nil), []*ticket{t}
	for _, other := range q.files {
		if short(other) {
			first = append(first, other)
		} else {
			rest = append(rest, other)
		}
	}
	q.files = append(first, rest...)
	t.turn = make(chan struct{})
	q.grantTurns()
	q.mu.Unlock()
	return q.wait(ctx, t)
}

// position describes for a client where t is in the queue.
func (q *queue) position(t *ticket) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.Index(q.files, t)
	switch {
	case n >= 0:
		return fmt.Sprintf("waiting, %d before this", n)
	case t.turn == nil:
		return "waiting"
	}
	return "working"
}

// working counts turns in use.
func (q *queue) working() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.active
}

// waiting counts the requests and live passes that wait for a turn.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.files) + len(q.live)
}
