package serve

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// sockets counts realtime sessions and ends them with the server.
type sockets struct {
	most     int
	count    *atomic.Int64
	all      *sync.WaitGroup
	draining chan struct{} // closed when the server shuts down
	lost     chan struct{} // closed at the end of the grace period
	giveUp   func()
}

func newSockets(most int) sockets {
	lost := make(chan struct{})
	return sockets{
		most: most, count: new(atomic.Int64), all: new(sync.WaitGroup), draining: make(chan struct{}),
		lost: lost, giveUp: sync.OnceFunc(func() { close(lost) }),
	}
}

// enter admits a session if there is room, and returns the function by which it leaves.
func (k *sockets) enter() (leave func(), ok bool) {
	if k.count.Add(1) > int64(k.most) {
		k.count.Add(-1)
		return nil, false
	}
	k.all.Add(1)
	return func() {
		if k.count.Add(-1) == 0 {
			debug.FreeOSMemory() // what many sessions took is not wanted soon
		}
		k.all.Done()
	}, true
}

func (k *sockets) open() int { return int(k.count.Load()) }

// wait returns when all sessions have ended. When ctx ends, it ends them.
func (k *sockets) wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		k.all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		k.giveUp()
		<-ended
		return ctx.Err()
	}
}
