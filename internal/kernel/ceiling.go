package kernel

import (
	"sync/atomic"
	"time"

	"verity/parallel"
)

// Ceilings are the measured maximum rates of this machine, which times of kernels are
// compared with: those of the kernels in use on data that is in the nearest caches. They
// depend on the threads of the pool, and on other load.

// PeakFMA returns how many float32 operations per second the threads of p do in d
// of products, where a multiplication and an addition count as two.
func PeakFMA(p *parallel.Pool, d time.Duration) float64 {
	return products(p, d, use.tiles.f32, 64)
}

// PeakInt8 returns how many operations of int8 products per second the threads
// of p do in d, multiplication and addition counted as two.
func PeakInt8(p *parallel.Pool, d time.Duration) float64 {
	return products(p, d, use.int8s.tile, 256)
}

// ceilingRows is a multiple of the rows that every tile takes at a time.
const ceilingRows = 96

// products returns the rate of a tile whose depth fits the first-level cache.
func products[S, X float32 | int32 | uint8, W float32 | int8](p *parallel.Pool, d time.Duration, tile rowsFunc[S, X, W], depth int) float64 {
	sums := make([][ceilingRows * panel]S, p.Threads())
	x, w := make([]X, ceilingRows*depth), make([]W, depth*panel)
	noise := uint32(1)
	for i := range max(len(x), len(w)) { // the more bits change, the slower are some processors
		noise = noise*1664525 + 1013904223
		x[i%len(x)], w[i%len(w)] = X(noise>>25), W(noise>>25)-64
	}
	return rate(p, d, func(i int) float64 {
		tile(sums[i][:], x, depth, ceilingRows, w, hint{again: true})
		return 2 * ceilingRows * panel * float64(depth)
	})
}

// PeakVector returns how many operations per second the threads of p do in d on the
// elements of vectors: those of GELU, which does ops for each.
func PeakVector(p *parallel.Pool, d time.Duration, ops float64) float64 {
	x := make([][1024]float32, p.Threads())
	return rate(p, d, func(i int) float64 {
		use.vector.gelu(x[i][:])
		return ops * float64(len(x[i]))
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
		readSink.Store(loadLines(view[uint64](buf[k*chunk : (k+1)*chunk])))
		return chunk
	})
}

// loadLines loads every line of a cache that b covers. What it returns keeps the loads from being left out.
func loadLines(b []uint64) (bits uint64) {
	for ; len(b) >= 16; b = b[16:] { // two lines of 64 bytes
		bits |= b[0] | b[8]
	}
	return bits
}

var readSink atomic.Uint64

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
