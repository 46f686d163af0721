package bench

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/internal/machine"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
)

// Options configures Run. The zero value runs on one thread and keeps the weights as
// exact as the file has them.
type Options struct {
	Pool      *parallel.Pool      // runs the arithmetic; nil means one thread, the caller's
	Precision precision.Precision // of weights, activations and cache; the zero value is as exact as the file
	Stage     time.Duration       // least time to repeat each stage, and thrice for passes; 0 means 2 s
	Rows      []int               // of the passes, from 1 on; nil means 1, 2, 3 … 16
	Watch     func(stage string)  // if not nil, called with the name of what is measured next
}

const (
	mostRows = 16  // in a verify pass
	position = 100 // tokens in the cache: the middle of a typical window

	slice  = 60 * time.Millisecond // time for measuring one ceiling
	stale  = time.Second           // age from which ceilings are measured again
	fewest = 3                     // least runs of a stage
	most   = 40
)

// Run measures a checkpoint. It closes the checkpoint once the weights are loaded, so that they
// are not in memory twice.
func Run(ctx context.Context, c *model.Checkpoint, o Options) (*Result, error) {
	began := time.Now()
	o.Stage = cmp.Or(o.Stage, 2*time.Second)
	if o.Watch == nil {
		o.Watch = func(string) {}
	}
	b, err := begin(c, o)
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	runtime.GC() // free what loading left
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"log-mel", b.mel},
		{"encoder and cross keys and values", b.encode},
		{"decode step and verify passes", b.passes},
	} {
		o.Watch(stage.name)
		if err := stage.run(ctx); err != nil {
			return nil, err
		}
	}
	r := b.result()
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// Passes measures only passes, over a window without sound: their time does not depend on the sound. It also returns
// Ceiling.Spread, which shows how busy the machine was.
func Passes(ctx context.Context, d *decoder.Decoder, o Options) (_ []Pass, spread float64, err error) {
	o.Stage, o.Precision = cmp.Or(o.Stage, 2*time.Second), d.Precision()
	b := &bench{Options: o, dims: d.Dims(), decoder: d}
	b.features = &encoder.Features{Positions: b.dims.AudioPositions, Width: b.dims.AudioWidth}
	b.features.Data = make([]float32, b.features.Positions*b.features.Width)
	if err := b.passes(ctx); err != nil {
		return nil, 0, err
	}
	passes, spread := b.verify(), typical(b.ceilings).Spread
	for i := 1; i < len(passes); i++ { // more rows cannot take less time
		spread = max(spread, passes[i-1].Ratio/passes[i].Ratio)
	}
	return passes, spread, nil
}

type bench struct {
	Options
	head     Result // what is known before measuring
	dims     model.Dims
	encoder  *encoder.Encoder
	decoder  *decoder.Decoder
	pcm      []float32
	window   *audio.Mel
	features *encoder.Features

	ceilings []Ceiling // every measurement
	measured time.Time // time of the last measurement

	melRuns, encodeRuns, crossRuns runs
	passRuns                       [mostRows]runs
}

func begin(c *model.Checkpoint, o Options) (*bench, error) {
	b := &bench{Options: o, dims: c.Dims}
	o.Watch("loading")
	var err error
	b.encoder, b.decoder, err = transcribe.LoadNetwork(c, decoder.Options{Pool: b.Pool, Precision: b.Precision})
	if err != nil {
		return nil, err
	}
	b.Precision = b.encoder.Precision()
	h := &b.head
	h.Schema, h.Model, h.Precision, h.Threads = Schema, c.Name, b.Precision.String(), o.Pool.Threads()
	h.Dims = c.Dims
	h.CPU, h.Kernels = machine.CPU(), kernel.Implementations()[0]
	h.WindowSeconds = float64(c.Dims.WindowFrames()*audio.HopLength) / audio.SampleRate
	b.pcm = sweep(c.Dims.WindowFrames() * audio.HopLength)
	return b, nil
}

// sweep returns a tone that rises to 4 kHz, with a little noise.
func sweep(n int) []float32 {
	x, phase, noise := make([]float32, n), 0.0, uint32(1)
	for i := range x {
		phase += math.Pi / 2 * float64(i) / float64(n)
		noise = noise*1664525 + 1013904223
		x[i] = float32(0.3*math.Sin(phase)) + float32(int32(noise))/(1<<38)
	}
	return x
}

// ceiling returns the machine's current ceilings, at most stale old.
func (b *bench) ceiling() Ceiling {
	if time.Since(b.measured) > stale {
		b.ceilings = append(b.ceilings, Ceiling{
			GFLOPS:     kernel.PeakFMA(b.Pool, slice) / 1e9,
			GOPSInt8:   kernel.PeakInt8(b.Pool, slice) / 1e9,
			GOPSVector: kernel.PeakVector(b.Pool, slice, geluOps) / 1e9,
			GBPS:       kernel.ReadBandwidth(b.Pool, slice) / 1e9,
		})
		b.measured = time.Now()
	}
	return b.ceilings[len(b.ceilings)-1]
}

// A run is one execution of a stage, with the mean of the ceilings before and after it: other load
// on the machine slows the stage and the ceilings alike.
type run struct {
	seconds float64
	ceiling Ceiling
}

type runs []run

func (b *bench) time(to *runs, f func() error) error {
	before := b.ceiling()
	began := time.Now()
	err := f()
	seconds := time.Since(began).Seconds()
	*to = append(*to, run{seconds, before.mean(b.ceiling())})
	return err
}

func (r runs) seconds() float64 { return median(r, func(x run) float64 { return x.seconds }) }

// share returns the median of ideal time over measured time; the ideal is a machine at
// the ceilings of that moment.
func (r runs) share(ideal func(Ceiling) float64) float64 {
	return median(r, func(x run) float64 { return ideal(x.ceiling) / x.seconds })
}

// over returns the median ratio of times to those of other, run by run.
func (r runs) over(other runs) float64 {
	ratios := make([]float64, len(r))
	for i := range r {
		ratios[i] = r[i].seconds / other[i].seconds
	}
	return median(ratios, func(x float64) float64 { return x })
}

func median[T any](of []T, f func(T) float64) float64 {
	x := make([]float64, len(of))
	for i, v := range of {
		x[i] = f(v)
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func (b *bench) mel(ctx context.Context) error {
	return repeat(b.Stage/4, func() error {
		return b.time(&b.melRuns, func() error {
			s, err := audio.NewSpectrogram(ctx, audio.FromSamples("sweep", b.pcm),
				audio.Options{Bins: b.dims.MelBins, Window: b.dims.WindowFrames()})
			if err == nil {
				b.window, err = s.Window(ctx, 0)
			}
			return err
		})
	})
}

func (b *bench) encode(ctx context.Context) error {
	return repeat(b.Stage, func() error {
		err := b.time(&b.encodeRuns, func() (err error) {
			b.features, err = b.encoder.Encode(ctx, b.window, nil)
			return err
		})
		if err != nil {
			return err
		}
		return b.time(&b.crossRuns, func() error {
			cross, err := b.decoder.Cross(ctx, b.features, nil)
			if err == nil {
				cross.Close()
			}
			return err
		})
	})
}

// passes times passes of each number of rows in turn, all after the same tokens.
func (b *bench) passes(ctx context.Context) error {
	cross, err := b.decoder.Cross(ctx, b.features, nil)
	if err != nil {
		return err
	}
	defer cross.Close()
	stream := b.decoder.NewStream(cross)
	defer stream.Close()
	before := b.before()
	if err := b.decoder.Step(ctx, rows(stream, 0, before, false), nil); err != nil {
		return err
	}
	most := min(mostRows, b.dims.TextPositions-before)
	logits := make([]float32, most*b.dims.Vocab)
	return repeat(3*b.Stage, func() error {
		for n := range most + 1 {
			if n == 0 || b.Rows != nil && !slices.Contains(b.Rows, n) {
				continue
			}
			pass := rows(stream, before, n, true)
			if err := b.time(&b.passRuns[n-1], func() error { return b.decoder.Step(ctx, pass, logits) }); err != nil {
				return err
			}
			stream.Cut(before)
		}
		return nil
	})
}

// before returns how many tokens precede a pass: fewer if the model has few positions.
func (b *bench) before() int { return min(position, b.dims.TextPositions/2) }

func rows(s *decoder.Stream, from, n int, wantLogits bool) []decoder.Row {
	all := make([]decoder.Row, n)
	for i := range all {
		all[i] = decoder.Row{Stream: s, Position: from + i, Token: tokenizer.Token(i), WantLogits: wantLogits}
	}
	return all
}

// repeat runs f for at least long, and at least fewest times. A cold first run does not
// move a median.
func repeat(long time.Duration, f func() error) error {
	began := time.Now()
	for n := 0; n < most && (n < fewest || time.Since(began) < long); n++ {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// result computes the result from times and ceilings.
func (b *bench) result() *Result {
	r, at := b.head, b.before()
	r.Ceiling = typical(b.ceilings)
	r.Mel = Time{b.melRuns.seconds()}
	r.Encode = b.passage(b.encodeRuns, encoderWork(b.dims, b.Precision))
	r.CrossKV = b.passage(b.crossRuns, crossWork(b.dims, b.Precision))
	bytes := b.decoder.StepBytes(at + 1)
	r.Step = Step{
		Seconds: b.passRuns[0].seconds(), Bytes: bytes, Position: at, Runs: len(b.passRuns[0]),
		FLOPs: passWork(b.dims, b.Precision, 1, at).multiplied(),
		MBU:   b.passRuns[0].share(func(c Ceiling) float64 { return float64(bytes) / (1e9 * c.GBPS) }),
	}
	r.Verify = b.verify()
	return &r
}

func (b *bench) verify() (all []Pass) {
	at := b.before()
	for i, times := range b.passRuns {
		if len(times) == 0 {
			continue
		}
		w, bytes := passWork(b.dims, b.Precision, i+1, at), float64(b.decoder.StepBytes(at+i+1))
		share := times.share(func(c Ceiling) float64 { return max(bytes/(1e9*c.GBPS), w.ideal(c, b.Precision).all()) })
		all = append(all, Pass{Rows: i + 1, Seconds: times.seconds(), Ratio: times.over(b.passRuns[0]), Share: share})
	}
	return all
}

func (b *bench) passage(times runs, w work) Passage {
	share := func(part func(ideal) float64) float64 {
		return times.share(func(c Ceiling) float64 { return part(w.ideal(c, b.Precision)) })
	}
	return Passage{
		Seconds: times.seconds(), FLOPs: w.multiplied(), VectorOps: w.vector, Runs: len(times),
		Utilization: share(ideal.all),
		Products:    share(func(i ideal) float64 { return i.products }),
		Attention:   share(func(i ideal) float64 { return i.attend }),
		Vectors:     share(func(i ideal) float64 { return i.vector }),
	}
}
