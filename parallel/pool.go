package parallel

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// spinTime is how long a thread without work looks for some before it sleeps:
// longer than the serial code between two kernels of a token, short enough not
// to slow other programs. Waking a sleeping thread takes 5 to 50 µs.
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
// Each thread has a share of a job's parts, a contiguous range. It works through the range
// from the front, so that neighbours in memory are read as one stream. A thread that has
// finished its share steals parts of the others from the back.
//
// A thread that removes a part from a share owns it, and the job cannot end before the
// owner has lowered unfinished. So task is stable for an owner, and a late worker finds no
// part left and touches nothing.
type Pool struct {
	run     sync.Mutex // locked by the caller whose job runs
	workers []*worker  // threads 1, 2, …; the caller is thread 0
	shares  []share    // of each thread
	ended   sync.WaitGroup
	closed  atomic.Bool
	spin    time.Duration

	task Task

	_          [64]byte // written by all threads
	unfinished atomic.Int64
	_          [56]byte

	sleeping atomic.Bool   // the caller waits for finished
	finished chan struct{} // at most one token: only the thread that resets sleeping sends
	failure  atomic.Pointer[failure]
}

// A share is the parts lo … hi-1 that are left to a thread, as hi<<32 | lo.
type share struct {
	parts atomic.Uint64
	_     [120]byte // two cache lines: the hardware fetches pairs
}

func (s *share) set(lo, hi int) { s.parts.Store(uint64(hi)<<32 | uint64(lo)) }

func (s *share) left() bool {
	v := s.parts.Load()
	return uint32(v) < uint32(v>>32)
}

// first removes and returns the first part, or returns -1 if there is none.
func (s *share) first() int {
	for {
		v := s.parts.Load()
		if uint32(v) >= uint32(v>>32) {
			return -1
		}
		if s.parts.CompareAndSwap(v, v+1) {
			return int(uint32(v))
		}
	}
}

// last removes and returns the last part, or returns -1 if there is none.
func (s *share) last() int {
	for {
		v := s.parts.Load()
		if uint32(v) >= uint32(v>>32) {
			return -1
		}
		if s.parts.CompareAndSwap(v, v-1<<32) {
			return int(v>>32) - 1
		}
	}
}

// A worker is one thread besides the caller's.
type worker struct {
	asleep atomic.Bool
	wake   chan struct{} // at most one token: only the thread that resets asleep sends
	_      [48]byte
}

// A failure is the value of a panic in a part.
type failure struct{ value any }

// MaxThreads is the maximum number of threads of a pool. A job must reach every thread, and
// starting thousands takes longer than any job.
const MaxThreads = 1024

// New returns a pool of the given number of threads, the caller's included. Below 1 it has
// one thread per fast core, at most [runtime.GOMAXPROCS]; above MaxThreads it has
// MaxThreads. A pool of one thread has no goroutines, and nothing to close.
func New(threads int) *Pool {
	procs, threads := runtime.GOMAXPROCS(0), min(threads, MaxThreads)
	if threads < 1 {
		threads = fastCores()
	}
	p := &Pool{finished: make(chan struct{}, 1)}
	if threads <= procs { // else a spinning thread would keep a working one off
		p.spin = spinTime
	}
	p.shares = make([]share, threads)
	for range threads - 1 {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		me := len(p.workers)
		p.ended.Go(func() { p.work(w, me) })
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
	p.task = t
	p.unfinished.Store(int64(parts))
	// All shares before anyone wakes: a worker that finds the others empty sleeps again, and
	// would help nobody.
	used := min(parts, len(p.shares))
	for i := range used {
		p.shares[i].set(Split(parts, len(p.shares), i))
	}
	for _, w := range p.workers[:used-1] {
		w.rouse()
	}
	p.doParts(0)
	p.join()
	p.task = nil
	if f := p.failure.Swap(nil); f != nil {
		panic(f.value)
	}
}

// doParts does the parts of thread me, and then what others have left.
func (p *Pool) doParts(me int) {
	done := 0
	for i := p.shares[me].first(); i >= 0; i = p.shares[me].first() {
		p.do(i)
		done++
	}
	for n := 1; n < len(p.shares); n++ {
		other := &p.shares[(me+n)%len(p.shares)]
		for i := other.last(); i >= 0; i = other.last() {
			p.do(i)
			done++
		}
	}
	if done > 0 && p.unfinished.Add(-int64(done)) == 0 && p.sleeping.CompareAndSwap(true, false) {
		p.finished <- struct{}{}
	}
}

// do runs part i and keeps the value it may panic with.
func (p *Pool) do(i int) {
	defer func() {
		if v := recover(); v != nil {
			p.failure.CompareAndSwap(nil, &failure{v})
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

// work is the life of a worker, thread me: do parts, spin, sleep.
func (p *Pool) work(w *worker, me int) {
	debug.SetPanicOnFault(true) // a part may read a mapped file that was cut short; do passes the panic on
	mine := &p.shares[me]
	for !p.closed.Load() {
		p.doParts(me)
		for start := time.Now(); !mine.left() && time.Since(start) < p.spin; {
			pause()
		}
		if mine.left() {
			continue
		}
		w.asleep.Store(true)
		if mine.left() || p.closed.Load() { // work arrived before asleep was set
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
