package kernel

import (
	"time"

	"verity/parallel"
	"verity/precision"
)

// A Trial is a product of some rows with weights in a format.
type Trial struct {
	Weights precision.Format
	Rows    int
}

const (
	trialIn    = 1024 // a little deeper than a layer of base
	trialOut   = 512
	trialSlab  = 1 << 20  // bytes of weights in a trial
	trialBytes = 31 << 20 // in all: more than most caches hold, and a prime number of slabs,
	// so that every trial meets every slab
)

// Trials times products whose weights come from memory, as those of a model do.
type Trials struct {
	pool    *parallel.Pool
	weights []byte // of matrices of every format in turn
	next    int    // where those of the next trial begin
	like    map[precision.Format]*Matrix
	x, dst  []float32
}

// NewTrials returns trials on the threads of p. It takes 31 MiB.
func NewTrials(p *parallel.Pool) *Trials {
	t := &Trials{pool: p, weights: aligned(trialBytes), like: map[precision.Format]*Matrix{}}
	pattern := make([]byte, 4096) // numbers that are normal in every format
	for i := range pattern {
		pattern[i] = byte(i*i>>4)&7 | 0x30
	}
	p.For(trialBytes/len(pattern), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(t.weights[i*len(pattern):], pattern)
		}
	})
	t.x, t.dst = make([]float32, manyRows*trialIn), make([]float32, manyRows*trialOut)
	for i := range t.x {
		t.x[i] = float32(i%17) - 8
	}
	return t
}

// Time returns how long a trial takes with the tuning in use. Each goes through other
// weights than those before. It panics if the trial has more rows than any of Knobs.
func (t *Trials) Time(trial Trial) time.Duration {
	like := t.like[trial.Weights]
	if like == nil {
		var err error
		if like, err = NewMatrix(trial.Weights, trialOut, trialIn); err != nil {
			panic(err) // shapes are constant
		}
		like.allocate()
		t.like[trial.Weights] = like
	}
	w, size := *like, len(like.data)+len(like.scales)
	x, dst := t.x[:trial.Rows*trialIn], t.dst[:trial.Rows*trialOut]
	begin := time.Now()
	for at := t.next; at+size <= t.next+trialSlab; at += size {
		w.data = t.weights[at:][:len(like.data)]
		w.scales = t.weights[at+len(like.data):][:len(like.scales)]
		MatMul(t.pool, dst, x, trial.Rows, trialIn, &w, nil, Store)
	}
	took := time.Since(begin)
	t.next = (t.next + trialSlab) % trialBytes
	return took
}
