package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestOrdered checks order, the number of jobs at a time, and that no two jobs have
// one worker, for jobs whose times are the reverse of their order.
func TestOrdered(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 7, maxWorkers + 5} {
		for _, ahead := range []int{-1, 0, 3, 100} {
			const n = 60
			var running, most atomic.Int64
			var busy sync.Map
			do := func(worker, job int) int {
				if _, taken := busy.LoadOrStore(worker, true); taken {
					t.Errorf("two jobs of worker %d at a time", worker)
				}
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				for range n - job {
					runtime.Gosched()
				}
				running.Add(-1)
				busy.Delete(worker)
				return 10 * job
			}
			next := 0
			for r := range Ordered(workers, ahead, slices.Values(upTo(n)), do) {
				if r != 10*next {
					t.Fatalf("%d workers: got %d, want %d", workers, r, 10*next)
				}
				next++
			}
			if next != n || most.Load() > int64(max(1, workers)) {
				t.Errorf("%d workers: %d results of %d, %d jobs at a time", workers, next, n, most.Load())
			}
		}
	}
}

// TestOrderedBreak leaves the loop: jobs under way end before Ordered returns, and
// no further one is begun.
func TestOrderedBreak(t *testing.T) {
	const workers, ahead = 3, 2
	var begun, ended atomic.Int64
	hold := make(chan struct{})
	do := func(_, job int) int {
		begun.Add(1)
		if job > 0 {
			<-hold
		}
		ended.Add(1)
		return job
	}
	for range Ordered(workers, ahead, slices.Values(upTo(1000)), do) {
		close(hold)
		break
	}
	if begun.Load() != ended.Load() || begun.Load() > 1000-1 {
		t.Errorf("%d jobs begun, %d ended", begun.Load(), ended.Load())
	}
	after := begun.Load()
	runtime.Gosched()
	if begun.Load() != after {
		t.Error("a job was begun after the loop")
	}
}

// TestOrderedPanic: a panic in the loop leaves no job behind.
func TestOrderedPanic(t *testing.T) {
	var begun, ended atomic.Int64
	func() {
		defer func() {
			if v := recover(); v != "in the loop" {
				t.Errorf("recovered %v", v)
			}
		}()
		for range Ordered(2, 1, slices.Values(upTo(1000)), func(_, job int) int {
			begun.Add(1)
			runtime.Gosched()
			return int(ended.Add(1))
		}) {
			panic("in the loop")
		}
	}()
	if b, e := begun.Load(), ended.Load(); b != e || b == 1000 {
		t.Errorf("%d jobs begun, %d ended", b, e)
	}
}

// TestOrderedAhead: while the first job runs, no more begin than may wait.
func TestOrderedAhead(t *testing.T) {
	const workers, ahead = 2, 3
	var begun atomic.Int64
	hold := make(chan struct{})
	do := func(_, job int) int {
		if begun.Add(1); job == 0 {
			<-hold
		}
		return job
	}
	done := make(chan int)
	go func() {
		n := 0
		for range Ordered(workers, ahead, slices.Values(upTo(50)), do) {
			n++
		}
		done <- n
	}()
	for begun.Load() < workers+ahead {
		runtime.Gosched()
	}
	for range 1000 {
		runtime.Gosched()
	}
	if b := begun.Load(); b > workers+ahead {
		t.Errorf("%d jobs begun while the first one runs, want at most %d", b, workers+ahead)
	}
	close(hold)
	if n := <-done; n != 50 {
		t.Errorf("%d results, want 50", n)
	}
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
