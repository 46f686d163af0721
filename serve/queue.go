package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// errFull reports that too many requests wait already.
var errFull = errors.New("too many requests are waiting")

// A line lets a number of requests work at a time. Others wait, first come, first
// served, but for two things: a request with much left lets those with much less go
// first between two windows, and passes over live sound, which are short and late in no
// time, take every other turn if they wait.
type queue struct {
	limit int // requests in the line, working and waiting
	turns int // turns

	mu       sync.Mutex
	tickets  int
	active   int       // turns taken, live ones included
	files    []*ticket // waiting requests
	live     []*ticket // waiting passes; the number of sessions bounds them
	liveLast bool      // the last turn that was given went to a pass
	backlog  float64   // seconds of sound that requests have left
	pace     float64   // seconds of a turn for a second of sound, lately
	paces    int       // measured
}

// A place is a request or a pass in the line.
type ticket struct {
	turn      chan struct{} // closed when it has a turn
	remaining float64       // seconds of sound to do
	total     float64       // at the beginning
	began     time.Time     // of the turn
	spent     time.Duration // in earlier turns
}

// The pace before anything has been transcribed, and how much the last request counts at
// least.
const (
	initialPace = 0.25
	minWeight   = 0.2
)

func newQueue(turns, waiting int) *queue {
	return &queue{limit: turns + waiting, turns: turns, pace: initialPace}
}

// full reports that a request would be refused now.
func (l *queue) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tickets >= l.limit
}

// enter takes a place in the line for sound of so many seconds, without waiting for a
// turn. The caller leaves.
func (l *queue) join(seconds float64) (*ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tickets >= l.limit {
		return nil, errFull
	}
	l.tickets++
	l.backlog += seconds
	return &ticket{remaining: seconds, total: seconds}, nil
}

// leave gives back the place, and its turn if it has one.
func (l *queue) leave(p *ticket) {
	l.endTurn(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tickets--
	l.backlog -= p.remaining
	if did := p.total - p.remaining; did >= 1 { // a refused file says nothing about the pace
		l.paces++
		l.pace += max(minWeight, 1/float64(l.paces)) * (p.spent.Seconds()/did - l.pace)
	}
}

// queue lets p have the next free turn of those who wait for one, and reports whether it has
// to wait, too. The caller calls await.
func (l *queue) await(list *[]*ticket, p *ticket) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*list = append(*list, p)
	p.turn = make(chan struct{})
	l.grantTurns()
	return slices.Contains(*list, p)
}

// guest waits for a turn for one pass of a realtime session, which needs no place in the
// line. end ends the turn.
func (l *queue) liveTurn(ctx context.Context) (end func(), err error) {
	p := new(ticket)
	l.await(&l.live, p)
	if err := l.wait(ctx, p); err != nil {
		return nil, err
	}
	return func() { l.endTurn(p) }, nil
}

// await returns when p, which has been queued, has a turn.
func (l *queue) wait(ctx context.Context, p *ticket) error {
	select {
	case <-p.turn:
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.turn: // at the same time
		l.release(p)
		l.grantTurns()
	default:
		same := func(q *ticket) bool { return q == p }
		l.files, l.live = slices.DeleteFunc(l.files, same), slices.DeleteFunc(l.live, same)
		p.turn = nil
	}
	return context.Cause(ctx)
}

// give gives free turns to those who wait.
func (l *queue) grantTurns() {
	for l.active < l.turns && len(l.files)+len(l.live) > 0 {
		from := &l.files
		if l.liveLast = len(l.files) == 0 || len(l.live) > 0 && !l.liveLast; l.liveLast {
			from = &l.live
		}
		p := (*from)[0]
		*from = slices.Delete(*from, 0, 1)
		l.active++
		p.began = time.Now()
		close(p.turn)
	}
}

// end ends the turn of p, if it has one.
func (l *queue) endTurn(p *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.turn == nil {
		return
	}
	l.release(p)
	l.grantTurns()
}

func (l *queue) release(p *ticket) {
	l.active--
	p.turn = nil
	p.spent += time.Since(p.began)
}

// The end of a clip, which is no window, and how much less than what a request has left
// is much less.
const (
	negligible = 0.1 // s
	muchLess   = 0.5
)

// yield records that p has so many seconds left. If others should go first, it gives them
// its turn and waits for another one; it is then before all that do not go first. After
// an error p has no turn. A request with nothing left keeps its turn: it ends at once.
func (l *queue) yield(ctx context.Context, p *ticket, left, total float64) error {
	l.mu.Lock()
	l.backlog += left - p.remaining
	p.remaining, p.total = left, total
	short := func(q *ticket) bool { return q.remaining < muchLess*left }
	if left < negligible || p.turn == nil || len(l.live) == 0 && !slices.ContainsFunc(l.files, short) {
		l.mu.Unlock()
		return nil
	}
	l.release(p)
	var first, rest []*ticket
	for _, q := range l.files {
		if short(q) {
			first = append(first, q)
		} else {
			rest = append(rest, q)
		}
	}
	l.files = slices.Concat(first, []*ticket{p}, rest)
	p.turn = make(chan struct{})
	l.grantTurns()
	l.mu.Unlock()
	return l.wait(ctx, p)
}

// place says where p stands.
func (l *queue) position(p *ticket) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := slices.Index(l.files, p)
	switch {
	case n >= 0:
		return fmt.Sprintf("waiting, %d before this", n)
	case p.turn == nil:
		return "waiting"
	}
	return "working"
}

func (l *queue) working() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active
}

func (l *queue) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.files) + len(l.live)
}

// retryAfter estimates when what is in the line is done.
func (l *queue) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := time.Duration(l.backlog * l.pace / float64(l.turns) * float64(time.Second))
	return min(max(wait.Round(time.Second), time.Second), 5*time.Minute)
}
