package bench

import (
	"math"

	"verity/model"
)

// Schema is the schema field of a result.
const Schema = "verity.bench/1"

// A Result holds the measurements. Times are medians, in seconds.
type Result struct {
	Schema    string `json:"schema"`    // name and version of this format
	Model     string `json:"model"`     // as named
	Random    bool   `json:"random"`    // the weights are random, without files
	Planted   bool   `json:"planted"`   // the text is planted
	Precision string `json:"precision"` // format of the weights

	Dims model.Dims `json:"dims"` // of the network

	Threads int    `json:"threads"` // threads used
	CPU     string `json:"cpu"`     // the processor
	Kernels string `json:"kernels"` // the instruction set in use

	Ceiling Ceiling `json:"ceiling"`  // what the kernels can do at best on this machine
	Mel     Time    `json:"mel"`      // reading the sound, and its log-mel spectrogram
	Encode  Passage `json:"encode"`   // encoder
	CrossKV Passage `json:"cross_kv"` // keys and values of cross-attention
	Step    Step    `json:"step"`     // a step of the decoder
	Verify  []Pass  `json:"verify"`   // of decoding, passes of the model

	WindowSeconds float64 `json:"window_seconds"` // length of a window
	Seconds       float64 `json:"seconds"`        // time of the whole measurement
}

// A Ceiling is the best that the threads in use can do.
type Ceiling struct {
	GFLOPS   float64 `json:"gflops"`    // float32 arithmetic, GFLOP/s
	GOPSInt8 float64 `json:"gops_int8"` // int8 arithmetic, GOP/s
	GBPS     float64 `json:"gbps"`      // reading memory, GB/s

	// Other float32 operations, GOP/s: an addition, a comparison or
	// a fused multiply-add of one element counts as one.
	GOPSVector float64 `json:"gops_vector"`

	// The largest ratio of the highest to the lowest measurement among the
	// four ceilings: near 1 on a quiet machine.
	Spread float64 `json:"spread"`
}

// mean returns the mean of two ceilings.
func (c Ceiling) mean(d Ceiling) Ceiling {
	return Ceiling{
		GFLOPS: (c.GFLOPS + d.GFLOPS) / 2, GOPSInt8: (c.GOPSInt8 + d.GOPSInt8) / 2,
		GOPSVector: (c.GOPSVector + d.GOPSVector) / 2, GBPS: (c.GBPS + d.GBPS) / 2,
	}
}

// typical returns the median of each ceiling, and the spread.
func typical(all []Ceiling) (c Ceiling) {
	for _, x := range []struct {
		to *float64
		of func(Ceiling) float64
	}{
		{&c.GFLOPS, func(c Ceiling) float64 { return c.GFLOPS }},
		{&c.GOPSInt8, func(c Ceiling) float64 { return c.GOPSInt8 }},
		{&c.GOPSVector, func(c Ceiling) float64 { return c.GOPSVector }},
		{&c.GBPS, func(c Ceiling) float64 { return c.GBPS }},
	} {
		*x.to = median(all, x.of)
		low, high := math.Inf(1), 0.0
		for _, m := range all {
			low, high = min(low, x.of(m)), max(high, x.of(m))
		}
		c.Spread = max(c.Spread, high/low)
	}
	return c
}

// A Time is the time of a stage without a ceiling.
type Time struct {
	Seconds float64 `json:"seconds"` // median of the runs
}

// A Passage is a stage limited by arithmetic.
type Passage struct {
	Seconds     float64 `json:"seconds"`     // median of the runs
	FLOPs       float64 `json:"flops"`       // of products
	VectorOps   float64 `json:"vector_ops"`  // all other operations
	Utilization float64 `json:"utilization"` // ideal time over measured time
	Runs        int     `json:"runs"`        // how often it was measured

	// The parts of Utilization. They are medians, so they add up only approximately.

	Products  float64 `json:"products"`  // ideal time of products with weights over measured time
	Attention float64 `json:"attention"` // the same for products among activations
	Vectors   float64 `json:"vectors"`   // the same for all other operations
}

// A Step is a decode step of one row.
type Step struct {
	Seconds  float64 `json:"seconds"`  // median of the runs
	Bytes    int64   `json:"bytes"`    // that it reads
	FLOPs    float64 `json:"flops"`    // operations of products
	MBU      float64 `json:"mbu"`      // memory bandwidth utilisation
	Position int     `json:"position"` // tokens before it
	Runs     int     `json:"runs"`     // how often it was measured
}

// A Pass is a verify pass: a step of several rows of one stream.
type Pass struct {
	Rows    int     `json:"rows"`    // rows of the pass
	Seconds float64 `json:"seconds"` // median of the runs
	Ratio   float64 `json:"ratio"`   // time over that of a pass of one row
	Share   float64 `json:"share"`   // bound over measured time
}
