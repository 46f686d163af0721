package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// errFull reports that too many requests wait already.
var errFull = errors.New("too many requests are waiting")

// A line lets a number of requests work at a time; others wait, first come, first
// served.
type line struct {
	turns    *semaphore.Weighted // first in, first out
	most     int64               // requests in the line, working and waiting
	inside   atomic.Int64
	guests   atomic.Int64 // passes over live sound, working and waiting; the number of sessions bounds them
	busy     atomic.Int64
	duration atomic.Int64 // mean of the requests that ended, nanoseconds
	size     int
}

func newLine(turns, waiting int) *line {
	return &line{turns: semaphore.NewWeighted(int64(turns)), most: int64(turns + waiting), size: turns}
}

// enter takes a place in the line, without waiting. leave gives it back.
func (l *line) enter() (leave func(), err error) {
	if l.inside.Add(1) > l.most {
		l.inside.Add(-1)
		return nil, errFull
	}
	began := time.Now()
	return func() {
		l.inside.Add(-1)
		took, mean := int64(time.Since(began)), l.duration.Load()
		l.duration.CompareAndSwap(mean, mean+(took-mean)/8)
	}, nil
}

// begin waits for a turn.
func (l *line) begin(ctx context.Context) error {
	if err := l.turns.Acquire(ctx, 1); err != nil {
		return err
	}
	l.busy.Add(1)
	return nil
}

// guest waits for a turn for one pass of a realtime session. end ends the turn and
// leaves the line. The number of sessions bounds the guests, so none is refused.
func (l *line) guest(ctx context.Context) (end func(), err error) {
	l.guests.Add(1)
	if err := l.begin(ctx); err != nil {
		l.guests.Add(-1)
		return nil, err
	}
	return func() {
		l.end()
		l.guests.Add(-1)
	}, nil
}

// end ends a turn.
func (l *line) end() {
	l.busy.Add(-1)
	l.turns.Release(1)
}

// yield gives the turn to the next waiting request and waits for another one. After an
// error the caller has no turn.
func (l *line) yield(ctx context.Context) error {
	if l.waiting() == 0 {
		return nil
	}
	l.end()
	return l.begin(ctx)
}

func (l *line) working() int { return int(l.busy.Load()) }

func (l *line) waiting() int { return max(0, int(l.inside.Load()+l.guests.Load()-l.busy.Load())) }

// retryAfter estimates when a place will be free.
func (l *line) retryAfter() time.Duration {
	wait := time.Duration(l.duration.Load()) / time.Duration(l.size)
	return min(max(wait, time.Second), 5*time.Minute).Round(time.Second)
}
