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
type line struct {
	most int // requests in the line, working and waiting
	size int // turns

	mu       sync.Mutex
	inside   int
	taken    int      // turns taken, live ones included
	files    []*place // waiting requests
	live     []*place // waiting passes; the number of sessions bounds them
	liveLast bool     // the last turn that was given went to a pass
	backlog  float64  // seconds of sound that requests have left
	pace     float64  // seconds of a turn for a second of sound, lately
	paces    int      // measured
}

// A place is a request or a pass in the line.
type place struct {
	turn  chan struct{} // closed when it has a turn
	left  float64       // seconds of sound to do
	total float64       // at the beginning
	began time.Time     // of the turn
	spent time.Duration // in earlier turns
}

// The pace before anything has been transcribed, and how much the last request counts at
// least.
const (
	firstPace = 0.25
	newest    = 0.2
)

func newLine(turns, waiting int) *line {
	return &line{most: turns + waiting, size: turns, pace: firstPace}
}

// full reports that a request would be refused now.
func (l *line) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inside >= l.most
}

// enter takes a place in the line for sound of so many seconds, without waiting for a
// turn. The caller leaves.
func (l *line) enter(seconds float64) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside >= l.most {
		return nil, errFull
	}
	l.inside++
	l.backlog += seconds
	return &place{left: seconds, total: seconds}, nil
}

// leave gives back the place, and its turn if it has one.
func (l *line) leave(p *place) {
	l.end(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	l.backlog -= p.left
	if did := p.total - p.left; did >= 1 { // a refused file says nothing about the pace
		l.paces++
		l.pace += max(newest, 1/float64(l.paces)) * (p.spent.Seconds()/did - l.pace)
	}
}

// queue lets p have the next free turn of those who wait for one, and reports whether it has
// to wait, too. The caller calls await.
func (l *line) queue(list *[]*place, p *place) (waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*list = append(*list, p)
	p.turn = make(chan struct{})
	l.give()
	return slices.Contains(*list, p)
}

// guest waits for a turn for one pass of a realtime session, which needs no place in the
// line. end ends the turn.
func (l *line) guest(ctx context.Context) (end func(), err error) {
	p := new(place)
	l.queue(&l.live, p)
	if err := l.await(ctx, p); err != nil {
		return nil, err
	}
	return func() { l.end(p) }, nil
}

// await returns when p, which has been queued, has a turn.
func (l *line) await(ctx context.Context, p *place) error {
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
		l.give()
	default:
		same := func(q *place) bool { return q == p }
		l.files, l.live = slices.DeleteFunc(l.files, same), slices.DeleteFunc(l.live, same)
		p.turn = nil
	}
	return context.Cause(ctx)
}

// give gives free turns to those who wait.
func (l *line) give() {
	for l.taken < l.size && len(l.files)+len(l.live) > 0 {
		from := &l.files
		if l.liveLast = len(l.files) == 0 || len(l.live) > 0 && !l.liveLast; l.liveLast {
			from = &l.live
		}
		p := (*from)[0]
		*from = slices.Delete(*from, 0, 1)
		l.taken++
		p.began = time.Now()
		close(p.turn)
	}
}

// end ends the turn of p, if it has one.
func (l *line) end(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.turn == nil {
		return
	}
	l.release(p)
	l.give()
}

func (l *line) release(p *place) {
	l.taken--
	p.turn = nil
	p.spent += time.Since(p.began)
}

// The end of a clip, which is no window, and how much less than what a request has left
// is much less.
const (
	nothing  = 0.1 // s
	muchLess = 0.5
)

// yield records that p has so many seconds left. If others should go first, it gives them
// its turn and waits for another one; it is then before all that do not go first. After
// an error p has no turn. A request with nothing left keeps its turn: it ends at once.
func (l *line) yield(ctx context.Context, p *place, left, total float64) error {
	l.mu.Lock()
	l.backlog += left - p.left
	p.left, p.total = left, total
	short := func(q *place) bool { return q.left < muchLess*left }
	if left < nothing || p.turn == nil || len(l.live) == 0 && !slices.ContainsFunc(l.files, short) {
		l.mu.Unlock()
		return nil
	}
	l.release(p)
	var first, rest []*place
	for _, q := range l.files {
		if short(q) {
			first = append(first, q)
		} else {
			rest = append(rest, q)
		}
	}
	l.files = slices.Concat(first, []*place{p}, rest)
	p.turn = make(chan struct{})
	l.give()
	l.mu.Unlock()
	return l.await(ctx, p)
}

// place says where p stands.
func (l *line) place(p *place) string {
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

func (l *line) working() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

func (l *line) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.files) + len(l.live)
}

// retryAfter estimates when what is in the line is done.
func (l *line) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := time.Duration(l.backlog * l.pace / float64(l.size) * float64(time.Second))
	return min(max(wait.Round(time.Second), time.Second), 5*time.Minute)
}
