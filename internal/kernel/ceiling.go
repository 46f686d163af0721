package kernel

import (
	"sync/atomic"
	"time"

	"verity/parallel"
)

// Ceilings are the measured maximum rates of this machine, which times of kernels are
// compared with. They depend on the implementation in use, on the threads of the pool, and
// on other load.

// PeakFMA returns how many float32 operations per second the threads of p do in d
// of independent fused multiply-adds, each of which counts as two.
func PeakFMA(p *parallel.Pool, d time.Duration) float64 {
	return peak(p, d, use.ceilings.fma, 2*use.ceilings.fmaPerRound)
}

// PeakVNNI returns how many operations of int8 products per second the threads
// of p do in d, multiplication and addition counted as two.
func PeakVNNI(p *parallel.Pool, d time.Duration) float64 {
	return peak(p, d, use.ceilings.dot, 2*use.ceilings.dotPerRound)
}

// PeakVector returns how many operations per second the threads of p do in d on the
// elements of independent vectors: half of them fused multiply-adds, which count as one
// here, a quarter additions and a quarter maxima.
func PeakVector(p *parallel.Pool, d time.Duration) float64 {
	return peak(p, d, use.ceilings.vector, use.ceilings.vectorPerRound)
}

// peak returns the rate of rounds, in operations.
func peak(p *parallel.Pool, d time.Duration, run func(rounds int), operations float64) float64 {
	return rate(p, d, func(int) float64 {
		run(ceilingRounds)
		return ceilingRounds * operations
	})
}

// ReadBandwidth returns how many bytes per second the threads of p read in d from
// 256 MiB of memory, each in order from a range of its own.
func ReadBandwidth(p *parallel.Pool, d time.Duration) float64 {
	const chunk = 1 << 18
	buf := aligned(1 << 28)
	for i := 0; i < len(buf); i += 4096 {
		buf[i] = 1 // an untouched page maps to the shared zero page
	}
	at := make([]struct {
		next int
		_    [56]byte
	}, p.Threads())
	return rate(p, d, func(i int) float64 {
		lo, hi := parallel.Split(len(buf)/chunk, len(at), i)
		k := lo + at[i].next%max(1, hi-lo)
		at[i].next++
		use.ceilings.read(buf[k*chunk : (k+1)*chunk])
		return chunk
	})
}

// ceilingRounds is how many rounds are done between readings of the clock.
const ceilingRounds = 2000

// rate returns the work per second that the threads of p do in d. work(i) does some work
// on thread i and returns the amount.
func rate(p *parallel.Pool, d time.Duration, work func(i int) float64) float64 {
	m := &rateTask{work: work, d: d, rates: make([]float64, p.Threads())}
	p.Run(p.Threads(), m)
	total := 0.0
	for _, r := range m.rates {
		total += r
	}
	return total
}

// A rateTask is the measurement of rate. Its parts wait for one another for a limited
// time, so that each runs on a thread of its own.
type rateTask struct {
	work    func(i int) float64
	d       time.Duration
	started atomic.Int32
	rates   []float64
}

func (m *rateTask) Part(i int) {
	m.started.Add(1)
	for begin := time.Now(); int(m.started.Load()) < len(m.rates) && time.Since(begin) < m.d; {
	}
	begin, sum := time.Now(), 0.0
	for sum == 0 || time.Since(begin) < m.d {
		sum += m.work(i)
	}
	m.rates[i] = sum / time.Since(begin).Seconds()
}

// ceilingKernels are the loops that are measured.
type ceilingKernels struct {
	fma            func(n int) // n rounds
	fmaPerRound    float64
	dot            func(n int)
	dotPerRound    float64
	vector         func(n int)
	vectorPerRound float64
	read           func(b []byte) // a multiple of 512 bytes
}

var ceilingsRef = ceilingKernels{
	fma: fmaPeakRef, fmaPerRound: panel, dot: dotPeakRef, dotPerRound: panel,
	vector: vectorPeakRef, vectorPerRound: panel, read: readRef,
}

func fmaPeakRef(n int) {
	var acc, w [panel]float32
	for range n {
		addScaled(acc[:], 0, w[:])
	}
}

func vectorPeakRef(n int) {
	var acc, w [panel]float32
	for range n {
		addRef(acc[:], w[:])
	}
}

func dotPeakRef(n int) {
	var acc [panel]int32
	var w [panel]int8
	for range n {
		for i, v := range w {
			acc[i] += int32(v) * 3
		}
	}
}

func readRef(b []byte) {
	var sum uint64
	for _, v := range view[uint64](b) {
		sum |= v
	}
	readSink.Store(sum)
}

var readSink atomic.Uint64
