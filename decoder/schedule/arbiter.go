package schedule

import (
	"context"
	"sync"
	"time"
)

// An arbiter shares the machine's threads between the passes of a batch and exclusive work,
// the encoding of windows. While members decode, exclusive work that has used more than
// its share waits, at its next yield, until the passes have had theirs. So no pass waits
// for a whole window, and no encoding for a whole text.
type arbiter struct {
	owner chan struct{} // holds a token while exclusive work has the threads or waits for them

	mu          sync.Mutex
	changed     sync.Cond
	members     int
	passing     bool
	exclusive   bool    // exclusive work has the threads
	passCredit  float64 // seconds that passes may use before exclusive work continues
	since       time.Time
	busy        time.Duration // see Batch.Busy
	busyUpdated time.Time     // when busy was last updated
}

func (a *arbiter) init() {
	a.owner = make(chan struct{}, 1)
	a.changed.L = &a.mu
}

// updateBusy adds the time since it was last called. a.mu is held.
func (a *arbiter) updateBusy() {
	now := time.Now()
	if a.members > 0 && !a.exclusive {
		a.busy += now.Sub(a.busyUpdated)
	}
	a.busyUpdated = now
}

func (a *arbiter) busyTime() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.updateBusy()
	return a.busy
}

// addMembers adds n members.
func (a *arbiter) addMembers(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.updateBusy()
	a.members += n
	a.changed.Broadcast()
}

func (a *arbiter) beginPass() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.passing || a.exclusive {
		a.changed.Wait()
	}
	a.passing, a.since = true, time.Now()
}

func (a *arbiter) endPass() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.passing = false
	if len(a.owner) > 0 {
		a.passCredit -= time.Since(a.since).Seconds()
	}
	a.changed.Broadcast()
}

// beginExclusive waits until no other exclusive work runs, and for the threads.
func (a *arbiter) beginExclusive(ctx context.Context) error {
	select {
	case a.owner <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acquire()
	return nil
}

// acquire waits until the passes have had their share, and gets the threads. a.mu is held.
func (a *arbiter) acquire() {
	for a.passing || a.members > 0 && a.passCredit > 0 {
		a.changed.Wait()
	}
	a.updateBusy()
	a.exclusive, a.since = true, time.Now()
}

// release returns the threads, and credits the passes with their share of the time. a.mu
// is held.
func (a *arbiter) release(share float64) {
	a.updateBusy()
	a.exclusive = false
	a.passCredit += time.Since(a.since).Seconds() * share / (1 - share)
	if a.members == 0 {
		a.passCredit = 0
	}
	a.changed.Broadcast()
}

// yield lets passes run, for a share of the time.
func (a *arbiter) yield(share float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(share)
	a.acquire()
}

func (a *arbiter) endExclusive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(0)
	<-a.owner
}
