package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spinTime is how long a thread without work looks for some before it sleeps:
// longer than the serial code between two kernels of a token, short enough not
// to matter to anybody else. Waking a sleeper costs 5 to 50 µs.
const spinTime = 100 * time.Microsecond

// A Task is a job cut into parts. It is an interface so that one reused struct
// can carry the arguments of every call: a closure would be allocated.
type Task interface {
	// Part does part i. Parts run at the same time, in any order. They must not
	// use the pool that runs them, nor end their goroutine.
	Part(i int)
}

// A Pool runs tasks on its threads. The nil *Pool runs them in the caller.
//
// A running job is the counter left. Whoever lowers it from n to n-1 owns part
// parts-n, and the job cannot end before that owner has lowered unfinished too;
// so task and parts are stable for an owner, and a worker that comes late finds
// no part left and touches nothing.
type Pool struct {
	run     sync.Mutex // held by the caller whose job it is
	workers []*worker
	ended   sync.WaitGroup
	closed  atomic.Bool
	spin    time.Duration

	task  Task
	parts int

	_          [64]byte // the counters are written by all threads
	left       atomic.Int64
	_          [56]byte
	unfinished atomic.Int64
	_          [56]byte

	sleeping atomic.Bool   // the caller waits for finished
	finished chan struct{} // at most one token: only who resets sleeping sends
	failure  atomic.Pointer[failure]
}

// A worker is one thread besides the caller's.
type worker struct {
	asleep atomic.Bool
	wake   chan struct{} // at most one token: only who resets asleep sends
	_      [48]byte
}

// A failure is the value of a panic in a part.
type failure struct{ value any }

// New returns a pool of the given number of threads, the caller's included;
// below 1 it takes runtime.GOMAXPROCS(0). With one thread there are no
// goroutines, and nothing to close.
func New(threads int) *Pool {
	procs := runtime.GOMAXPROCS(0)
	if threads < 1 {
		threads = procs
	}
	p := &Pool{finished: make(chan struct{}, 1)}
	if threads <= procs { // else a spinning thread would keep a working one off
		p.spin = spinTime
	}
	for range threads - 1 {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.ended.Go(func() { p.work(w) })
	}
	return p
}

// Threads returns how many parts can run at the same time, 1 for a nil pool.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return len(p.workers) + 1
}

// Close ends the workers and waits for them. Later jobs run in their caller.
// It may be called again, and on a nil pool, but not while a job runs.
func (p *Pool) Close() {
	if p == nil || p.closed.Swap(true) {
		return
	}
	for _, w := range p.workers {
		w.rouse()
	}
	p.ended.Wait()
}

// Run calls t.Part(0) … t.Part(parts-1) and returns when all have returned. If
// parts panic, the others still run, and Run panics with the value of one.
func (p *Pool) Run(parts int, t Task) {
	if p == nil || len(p.workers) == 0 || parts <= 1 {
		for i := range parts {
			t.Part(i)
		}
		return
	}
	p.run.Lock()
	defer p.run.Unlock()
	p.task, p.parts = t, parts
	p.unfinished.Store(int64(parts))
	p.left.Store(int64(parts))
	for _, w := range p.workers[:min(parts-1, len(p.workers))] {
		w.rouse()
	}
	for p.step() {
	}
	p.join()
	p.task = nil
	if f := p.failure.Swap(nil); f != nil {
		panic(f.value)
	}
}

// step does one part, if one is left, and reports whether it did.
func (p *Pool) step() bool {
	for {
		n := p.left.Load()
		if n <= 0 {
			return false
		}
		if p.left.CompareAndSwap(n, n-1) {
			p.do(p.parts - int(n))
			return true
		}
	}
}

// do runs part i, keeps the value it may panic with, and counts it.
func (p *Pool) do(i int) {
	defer func() {
		if v := recover(); v != nil {
			p.failure.CompareAndSwap(nil, &failure{v})
		}
		if p.unfinished.Add(-1) == 0 && p.sleeping.CompareAndSwap(true, false) {
			p.finished <- struct{}{}
		}
	}()
	p.task.Part(i)
}

// join waits for the parts of other threads. A token in finished may be late,
// from the last thread of an earlier job, so it proves nothing.
func (p *Pool) join() {
	for start := time.Now(); p.unfinished.Load() > 0 && time.Since(start) < p.spin; {
		pause()
	}
	for p.unfinished.Load() > 0 {
		p.sleeping.Store(true)
		if p.unfinished.Load() == 0 && p.sleeping.CompareAndSwap(true, false) {
			return
		}
		<-p.finished
	}
}

// work is the life of a worker: do parts, spin, sleep.
func (p *Pool) work(w *worker) {
	for !p.closed.Load() {
		for p.step() {
		}
		for start := time.Now(); p.left.Load() <= 0 && time.Since(start) < p.spin; {
			pause()
		}
		if p.left.Load() > 0 {
			continue
		}
		w.asleep.Store(true)
		if p.left.Load() > 0 || p.closed.Load() { // it came while we lay down
			w.rouse()
		}
		<-w.wake
	}
}

// rouse wakes w if it sleeps or is about to.
func (w *worker) rouse() {
	if w.asleep.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}
