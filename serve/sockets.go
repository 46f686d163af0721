package serve

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// sockets counts realtime sessions and ends them with the server.
type sockets struct {
	count  atomic.Int64
	all    sync.WaitGroup
	lost   context.Context // done at the end of the grace period
	giveUp func()
}

// enter admits a session if there are fewer than most, and returns the function by which it leaves.
func (k *sockets) enter(most int) (leave func(), ok bool) {
	if k.count.Add(1) > int64(most) {
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
