package parallel

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(patient{m}) }

// patient settles at the end.
type patient struct{ *testing.M }

func (p patient) Run() int {
	code := p.M.Run()
	settle()
	return code
}

// settle waits for goroutines that are about to end: goleak does for half a second.
func settle() {
	for i := 0; i < 200 && goleak.Find() != nil; i++ {
	}
}

// counts is a task that counts how often each part ran.
type counts []atomic.Int32

func (c counts) Part(i int) { c[i].Add(1) }

func TestRunOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			p := New(threads)
			defer p.Close()
			if got := p.Threads(); got != threads {
				t.Fatalf("Threads() = %d, want %d", got, threads)
			}
			for parts := range 200 {
				c := make(counts, parts)
				p.Run(parts, c)
				for i := range c {
					if n := c[i].Load(); n != 1 {
						t.Fatalf("%d parts: part %d ran %d times", parts, i, n)
					}
				}
			}
		})
	}
}

// TestRunAfterSleep lets the workers fall asleep between jobs.
func TestRunAfterSleep(t *testing.T) {
	p := New(3)
	defer func() { // Close has to wake them
		time.Sleep(5 * spinTime)
		p.Close()
	}()
	for range 20 {
		time.Sleep(2 * spinTime)
		c := make(counts, 5)
		p.Run(len(c), c)
		for i := range c {
			if c[i].Load() != 1 {
				t.Fatalf("part %d ran %d times", i, c[i].Load())
			}
		}
	}
}

// A meeting is a task whose parts wait for one another.
type meeting struct {
	absent atomic.Int32
	all    chan struct{} // closed by the last to come
	missed atomic.Int32  // parts that gave up
}

func (m *meeting) Part(int) {
	if m.absent.Add(-1) == 0 {
		close(m.all)
	}
	select {
	case <-m.all:
	case <-time.After(2 * time.Minute):
		m.missed.Add(1)
	}
}

// TestRunMeets: every thread of the pool works on a job, those that slept too. A pool
// that wakes nobody does all parts one after the other, with the right results.
func TestRunMeets(t *testing.T) {
	for _, threads := range []int{2, 3} {
		p := New(threads)
		for range 3 {
			time.Sleep(20 * spinTime) // they lie down
			m := &meeting{all: make(chan struct{})}
			m.absent.Store(int32(threads))
			p.Run(threads, m)
			if m.missed.Load() > 0 {
				t.Fatalf("%d threads: %d parts waited in vain for another", threads, m.missed.Load())
			}
		}
		p.Close()
	}
}

// slow is a task whose first part outlasts the caller's patience.
type slow struct{ done atomic.Int32 }

func (s *slow) Part(i int) {
	time.Sleep(time.Duration(i%2) * 3 * spinTime)
	s.done.Add(1)
}

func TestRunWaits(t *testing.T) {
	p := New(2)
	defer p.Close()
	for range 10 {
		var s slow
		p.Run(4, &s)
		if n := s.done.Load(); n != 4 {
			t.Fatalf("Run returned after %d of 4 parts", n)
		}
	}
}

// A held task's first part waits for all the others.
type held struct{ left atomic.Int32 }

func (h *held) Part(i int) {
	if i > 0 {
		h.left.Add(-1)
		return
	}
	for begin := time.Now(); h.left.Load() > 0 && time.Since(begin) < 2*time.Minute; {
		runtime.Gosched()
	}
}

// TestRunHelps holds up one thread: the others must do all of its parts.
func TestRunHelps(t *testing.T) {
	p := New(2)
	defer p.Close()
	for range 20 {
		var h held
		h.left.Store(7)
		p.Run(8, &h)
		if n := h.left.Load(); n != 0 {
			t.Fatalf("%d of 7 parts waited for the thread that was held up", n)
		}
	}
}

// TestRunWakesLast: when a worker is woken, every share is set. A worker that came before the
// caller's share would help nobody and sleep.
func TestRunWakesLast(t *testing.T) {
	const threads = 3
	p := &Pool{shares: make([]share, threads), finished: make(chan struct{}, 1)}
	for range threads - 1 {
		w := &worker{wake: make(chan struct{})} // holds Run until the test receives
		w.asleep.Store(true)
		p.workers = append(p.workers, w)
	}
	var done sync.WaitGroup
	done.Go(func() { p.Run(threads, make(counts, threads)) })
	for i, w := range p.workers {
		for w.asleep.Load() {
			runtime.Gosched()
		}
		for k := range p.shares {
			if !p.shares[k].left() {
				t.Errorf("worker %d is woken before share %d is set", i+1, k)
			}
		}
		<-w.wake
	}
	done.Wait()
}

func TestNilPool(t *testing.T) {
	var p *Pool
	defer p.Close()
	c := make(counts, 3)
	p.Run(3, c)
	p.For(3, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			c[i].Add(1)
		}
	})
	for i := range c {
		if c[i].Load() != 2 || p.Threads() != 1 {
			t.Fatalf("nil pool: part %d ran %d times, %d threads", i, c[i].Load(), p.Threads())
		}
	}
}

func TestConcurrentCallers(t *testing.T) {
	p := New(2)
	defer p.Close()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				c := make(counts, 7)
				p.Run(7, c)
				for i := range c {
					if n := c[i].Load(); n != 1 {
						t.Errorf("part %d ran %d times", i, n)
					}
				}
			}
		})
	}
	callers.Wait()
}

// failing is a task in which some parts panic.
type failing struct{ ran atomic.Int32 }

func (f *failing) Part(i int) {
	f.ran.Add(1)
	if i%3 == 1 {
		panic("part failed")
	}
}

func TestPanic(t *testing.T) {
	for _, threads := range []int{2, 4} {
		p := New(threads)
		for range 50 {
			var f failing
			func() {
				defer func() {
					if v := recover(); v != "part failed" {
						t.Fatalf("recovered %v, want the value of the part", v)
					}
				}()
				p.Run(9, &f)
			}()
			if n := f.ran.Load(); n != 9 {
				t.Fatalf("%d of 9 parts ran", n)
			}
		}
		c := make(counts, 4) // the pool still works
		p.Run(4, c)
		p.Close()
		p.Close()
		p.Run(4, c) // in the caller
		for i := range c {
			if c[i].Load() != 2 {
				t.Fatalf("part %d ran %d times after a panic and Close", i, c[i].Load())
			}
		}
	}
}

func TestFor(t *testing.T) {
	p := New(2)
	defer p.Close()
	for _, n := range []int{0, 1, 2, 7, 100, 1001} {
		for _, grain := range []int{0, 1, 3, 64, 5000} {
			seen := make([]int32, n)
			p.For(n, grain, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					atomic.AddInt32(&seen[i], 1)
				}
			})
			if i := slices.IndexFunc(seen, func(k int32) bool { return k != 1 }); i >= 0 {
				t.Fatalf("n=%d grain=%d: %d seen %d times", n, grain, i, seen[i])
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for n := range 40 {
		for parts := 1; parts < 12; parts++ {
			end := 0
			for i := range parts {
				lo, hi := Split(n, parts, i)
				if lo != end || hi-lo < n/parts || hi-lo > n/parts+1 {
					t.Fatalf("Split(%d, %d, %d) = %d, %d after %d", n, parts, i, lo, hi, end)
				}
				end = hi
			}
			if end != n {
				t.Fatalf("Split(%d, %d, …) ends at %d", n, parts, end)
			}
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	p := New(2)
	defer p.Close()
	var s slow
	if n := testing.AllocsPerRun(20, func() { p.Run(2, &s) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

// busy is a task whose parts each keep a thread busy for 20 µs.
type busy struct{}

func (busy) Part(int) {
	for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
	}
}

// BenchmarkForkJoin measures what a job costs beyond its work, with as many
// equal parts as threads. The target is 10 µs for two.
func BenchmarkForkJoin(b *testing.B) {
	for threads := 1; threads <= runtime.GOMAXPROCS(0); threads++ {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			p := New(threads)
			defer p.Close()
			for b.Loop() {
				p.Run(threads, busy{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)-20000, "overhead-ns/op")
		})
	}
}

// crowd is a task that counts how many parts run at the same time.
type crowd struct{ now, most atomic.Int32 }

func (c *crowd) Part(int) {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(100 * time.Microsecond)
	c.now.Add(-1)
}

// TestNeverMoreThreads runs jobs of many parts, from one caller and from several at
// a time: never more parts run than the pool has threads, and no goroutine is
// started for a job.
func TestNeverMoreThreads(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		settle()
		before := runtime.NumGoroutine()
		p := New(threads)
		if n := runtime.NumGoroutine() - before; n != threads-1 {
			t.Errorf("%d threads: %d goroutines, want one less than threads", threads, n)
		}
		var c crowd
		p.Run(40, &c)
		if n := int(c.most.Load()); n > threads {
			t.Errorf("%d threads: %d parts at the same time", threads, n)
		}
		if n := runtime.NumGoroutine() - before; n != threads-1 {
			t.Errorf("%d threads: %d goroutines behind a job", threads, n)
		}
		if threads == 1 {
			p.Close()
			continue // each caller is a thread of its own
		}
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() { p.Run(10, &c) })
		}
		callers.Wait()
		if n := int(c.most.Load()); n > threads {
			t.Errorf("%d threads, four callers: %d parts at the same time", threads, n)
		}
		p.Close()
	}
}
