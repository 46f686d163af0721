// Package scale says how long a job takes on so many workers, and what bounds it: a
// formula, and a simulation that deals out the chunks one by one.
//
//	Plan, lengths of utterances → [Plan.Simulate] → Outcome
//	                            → [Plan.Bounds]   → workers from which on more do not help
package scale

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// A Plan is what one knows before a job: what one worker was measured to do, and what
// the store and the index were.
type Plan struct {
	// Rate is the seconds of audio that a worker transcribes in a second: audio hours
	// per core hour of "verity bench", times its cores.
	Rate float64

	// Load is the seconds to make the model ready once it lies in memory or on a disk.
	Load float64

	ModelBytes float64 // that every worker reads
	AudioBytes float64 // of a second of audio
	Store      float64 // bytes per second that the store gives to all workers together

	Index  float64 // seconds to read a row of the manifest, in one place
	Record float64 // bytes of a record
	Write  float64 // bytes per second that a shard is sorted and written with
	Shards int     // 0 means 1

	Chunk int // utterances that are handed out together; 0 means 16
}

func (p Plan) defaults() Plan {
	p.Shards, p.Chunk = max(p.Shards, 1), cmp.Or(p.Chunk, 16)
	return p
}

// An Outcome is what a job takes, in seconds.
type Outcome struct {
	Index      float64 // before any worker has work
	Ready      float64 // fetching and loading models
	Transcribe float64 // from the first chunk to the last, reading included
	Write      float64 // grouping, sorting and writing records
	Total      float64
	Busy       float64 // share of the workers' time in Transcribe that they transcribed
}

// Simulate runs a job of utterances of these lengths, in seconds, on n workers: each
// takes the next chunk when it is done with one, as runners do behind a Reshuffle. The
// store is shared evenly by workers that read.
func (p Plan) Simulate(n int, lengths []float64) Outcome {
	p = p.defaults()
	chunks := p.chunks(lengths)
	audio, records := sum(lengths), float64(len(lengths))*p.Record
	o := Outcome{
		Index: p.Index * float64(len(lengths)),
		Ready: float64(n)*p.ModelBytes/p.Store + p.Load,
		Write: records / p.Write / float64(p.Shards),
	}
	// A worker reads at its share of the store, and never faster than it transcribes: the
	// next chunk is read while one is transcribed.
	share := p.Store / float64(n)
	free := make(times, n)
	for _, c := range chunks {
		free[0] += max(c/p.Rate, c*p.AudioBytes/share)
		heap.Fix(&free, 0)
	}
	if len(chunks) > 0 {
		o.Transcribe = slices.Max(free)
		o.Busy = audio / p.Rate / (o.Transcribe * float64(n))
	}
	o.Total = o.Index + o.Ready + o.Transcribe + o.Write
	return o
}

// chunks are the seconds of audio in each chunk.
func (p Plan) chunks(lengths []float64) (all []float64) {
	for c := range slices.Chunk(lengths, p.Chunk) {
		all = append(all, sum(c))
	}
	return all
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// times is a heap: when each worker is free.
type times []float64

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(any)          { panic("scale: the number of workers does not change") }
func (t *times) Pop() any          { panic("scale: the number of workers does not change") }

// Bounds are numbers of workers from which on something else than transcribing takes as
// long as that: more workers gain less than half of what they should. With W = audio /
// Rate, the seconds of one worker,
//
//	Read     Store / (Rate · AudioBytes)   the store gives no more audio
//	Slowest  W / longest chunk             one worker is still at the longest chunk
//	Index    W / (Index · rows)            the manifest is read in one place
//	Model    √(W · Store / ModelBytes)     all workers fetch the model
//	Write    W / (Record · rows / Write / Shards)
type Bounds struct {
	Read, Slowest, Index, Model, Write float64
	First                              string // the name of the least
}

// Bounds returns the bounds for utterances of these lengths.
func (p Plan) Bounds(lengths []float64) Bounds {
	p = p.defaults()
	rows, w := float64(len(lengths)), sum(lengths)/p.Rate
	b := Bounds{
		Read:    p.Store / (p.Rate * p.AudioBytes),
		Slowest: sum(lengths) / slices.Max(append(p.chunks(lengths), math.SmallestNonzeroFloat64)),
		Index:   w / (p.Index * rows),
		Model:   math.Sqrt(w * p.Store / p.ModelBytes),
		Write:   w / (p.Record * rows / p.Write / float64(p.Shards)),
	}
	least := math.Inf(1)
	for _, x := range []struct {
		name string
		n    float64
	}{{"reading", b.Read}, {"the slowest chunk", b.Slowest}, {"the index", b.Index}, {"fetching the model", b.Model}, {"writing", b.Write}} {
		if x.n < least {
			least, b.First = x.n, x.name
		}
	}
	return b
}
