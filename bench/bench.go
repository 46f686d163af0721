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
	"verity/internal/layer"
	"verity/internal/parallel"
	"verity/internal/tensor"
	"verity/model"
	"verity/tokenizer"
)

// Options configures Run. The zero value runs on one thread, with the weights as
// exact as the file has them.
type Options struct {
	// Pool runs the arithmetic. Nil means the caller's goroutine alone.
	Pool *parallel.Pool

	// Precision is the type weights are stored in. Zero means f16 if every weight
	// survives that exactly, else the type of the file.
	Precision tensor.DType

	// Stage is how long each stage is repeated at least, three times as long for
	// passes. 0 means 2 s; 3 runs are made in any case.
	Stage time.Duration

	// Watch, if not nil, is told what is measured next.
	Watch func(stage string)
}

const (
	mostRows = 16  // of a verify pass
	position = 100 // tokens in the cache: the middle of a typical window

	slice  = 150 * time.Millisecond // of measuring one ceiling
	fewest = 3                      // runs of a stage
	most   = 40
)

// Run measures a checkpoint, and closes it once its weights are loaded, so that
// they are not held twice.
func Run(ctx context.Context, c *model.Checkpoint, o Options) (*Result, error) {
	began := time.Now()
	o.Stage = cmp.Or(o.Stage, 2*time.Second)
	b, err := load(c, o)
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	runtime.GC() // what loading left behind
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"ceilings", b.ceilings},
		{"log-mel", b.mel},
		{"encoder and cross keys and values", b.encode},
		{"ceilings", b.ceilings},
		{"decode step and verify passes", b.passes},
		{"ceilings", b.ceilings},
	} {
		if o.Watch != nil {
			o.Watch(stage.name)
		}
		if err := stage.run(ctx); err != nil {
			return nil, err
		}
	}
	r := b.result()
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// A bench is a measurement on its way. Times are in seconds, one a run.
type bench struct {
	Options
	head               Result // what is known before anything is measured
	dims               model.Dims
	encoder            *encoder.Encoder
	decoder            *decoder.Decoder
	pcm                []float32
	window             *audio.Mel
	features           *encoder.Features
	fma, dot, read     []float64 // per second
	melTimes           []float64
	encodeTimes, cross []float64
	passTimes          [mostRows][]float64
}

func load(c *model.Checkpoint, o Options) (*bench, error) {
	began := time.Now()
	b := &bench{Options: o, dims: c.Dims}
	if o.Watch != nil {
		o.Watch("loading")
	}
	store, err := layer.Storage(c, o.Precision)
	if err != nil {
		return nil, err
	}
	b.Precision = store
	if b.encoder, err = encoder.New(c, encoder.Options{Pool: o.Pool, Precision: store}); err != nil {
		return nil, err
	}
	if b.decoder, err = decoder.New(c, decoder.Options{Pool: o.Pool, Precision: store}); err != nil {
		return nil, err
	}
	b.head = Result{
		Schema: Schema, Model: c.Name, Precision: store.String(), Threads: o.Pool.Threads(),
		CPU: cpuName(), Kernels: kernel.Implementations()[0], Load: Time{time.Since(began).Seconds()},
		WindowSeconds: float64(c.Dims.WindowFrames()*audio.HopLength) / audio.SampleRate,
	}
	b.pcm = sweep(c.Dims.WindowFrames() * audio.HopLength)
	return b, nil
}

// sweep returns a tone that rises to 4 kHz, over a little noise.
func sweep(n int) []float32 {
	x, phase, noise := make([]float32, n), 0.0, uint32(1)
	for i := range x {
		phase += math.Pi / 2 * float64(i) / float64(n)
		noise = noise*1664525 + 1013904223
		x[i] = float32(0.3*math.Sin(phase)) + float32(int32(noise))/(1<<38)
	}
	return x
}

// ceilings measures each ceiling three times in turn.
func (b *bench) ceilings(ctx context.Context) error {
	for range 3 {
		b.fma = append(b.fma, kernel.PeakFMA(b.Pool, slice))
		b.dot = append(b.dot, kernel.PeakVNNI(b.Pool, slice))
		b.read = append(b.read, kernel.ReadBandwidth(b.Pool, slice))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) mel(ctx context.Context) error {
	return repeat(b.Stage/4, func() error {
		began := time.Now()
		s, err := audio.NewSpectrogram(ctx, audio.FromSamples("sweep", b.pcm), audio.Options{Bins: b.dims.MelBins, Window: b.dims.WindowFrames()})
		if err != nil {
			return err
		}
		if b.window, err = s.Window(ctx, 0); err != nil {
			return err
		}
		b.melTimes = append(b.melTimes, time.Since(began).Seconds())
		return nil
	})
}

func (b *bench) encode(ctx context.Context) error {
	return repeat(b.Stage, func() (err error) {
		began := time.Now()
		if b.features, err = b.encoder.Encode(ctx, b.window); err != nil {
			return err
		}
		encoded := time.Now()
		cross, err := b.decoder.Cross(ctx, b.features)
		if err != nil {
			return err
		}
		b.encodeTimes = append(b.encodeTimes, encoded.Sub(began).Seconds())
		b.cross = append(b.cross, time.Since(encoded).Seconds())
		cross.Close()
		return nil
	})
}

// passes runs passes of 1, 2, … rows in turn, all behind the same tokens.
func (b *bench) passes(ctx context.Context) error {
	cross, err := b.decoder.Cross(ctx, b.features)
	if err != nil {
		return err
	}
	defer cross.Close()
	stream := b.decoder.NewStream(cross)
	defer stream.Close()
	before := b.before()
	if err := b.decoder.Step(ctx, rows(stream, 0, before, true), nil); err != nil {
		return err
	}
	most := min(mostRows, b.dims.TextPositions-before)
	logits := make([]float32, most*b.dims.Vocab)
	return repeat(3*b.Stage, func() error {
		for n := 1; n <= most; n++ {
			pass := rows(stream, before, n, false)
			began := time.Now()
			if err := b.decoder.Step(ctx, pass, logits); err != nil {
				return err
			}
			b.passTimes[n-1] = append(b.passTimes[n-1], time.Since(began).Seconds())
			stream.Cut(before)
		}
		return nil
	})
}

// before is how many tokens stand before a pass: fewer in a model of few positions.
func (b *bench) before() int { return min(position, b.dims.TextPositions/2) }

func rows(s *decoder.Stream, from, n int, silent bool) []decoder.Row {
	all := make([]decoder.Row, n)
	for i := range all {
		all[i] = decoder.Row{Stream: s, Position: from + i, Token: tokenizer.Token(i), Silent: silent}
	}
	return all
}

// repeat runs f until it ran often and long enough. What is cold in the first run
// does not move the median.
func repeat(long time.Duration, f func() error) error {
	began := time.Now()
	for n := 0; n < most && (n < fewest || time.Since(began) < long); n++ {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// result compares medians with ceilings.
func (b *bench) result() *Result {
	r := b.head
	r.Ceiling = b.ceiling()
	r.Mel = Time{median(b.melTimes)}
	r.Encode = b.passage(b.encodeTimes, encoderWork(b.dims))
	r.CrossKV = b.passage(b.cross, crossWork(b.dims))

	bytes := b.decoder.StepBytes(b.before() + 1)
	step := median(b.passTimes[0])
	r.Step = Step{Seconds: step, Bytes: bytes, FLOPs: passWork(b.dims, 1, b.before()).all(), Position: b.before(), Runs: len(b.passTimes[0]),
		MBU: float64(bytes) / step / (1e9 * r.Ceiling.GBPS)}
	for i, times := range b.passTimes {
		if len(times) == 0 {
			continue
		}
		w := passWork(b.dims, i+1, b.before())
		reading := float64(b.decoder.StepBytes(b.before()+i+1)) / (1e9 * r.Ceiling.GBPS)
		t := median(times)
		r.Verify = append(r.Verify, Pass{i + 1, t, t / step, max(reading, w.ideal(r.Ceiling, b.Precision))})
	}
	return &r
}

func (b *bench) ceiling() Ceiling {
	c := Ceiling{GFLOPS: median(b.fma) / 1e9, GOPSInt8: median(b.dot) / 1e9, GBPS: median(b.read) / 1e9}
	for _, x := range [][]float64{b.fma, b.dot, b.read} {
		c.Spread = max(c.Spread, slices.Max(x)/slices.Min(x))
	}
	return c
}

func (b *bench) passage(times []float64, w work) Passage {
	t := median(times)
	return Passage{Seconds: t, FLOPs: w.all(), Utilization: w.ideal(b.ceiling(), b.Precision) / t, Runs: len(times)}
}
