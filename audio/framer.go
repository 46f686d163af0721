package audio

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
)

// A framer gathers the samples of frames from a clip, in ascending order; going back makes it start again.
type framer struct {
	clip     *Clip
	read     func(ctx context.Context, dst []float32) (int, error)
	mirror   int64 // the sample where clips up to this length are reflected; -1: none are
	buf      []float32
	base     int64 // number of buf[0] in the clip
	keepFrom int64 // samples before it may be dropped
	ended    bool
	n        int64       // samples read so far, all of them once ended
	hash     *sampleHash // nil after the first pass
	samples  sampleRun
}

func newFramer(c *Clip, o Options, read func(context.Context, []float32) (int, error)) framer {
	f := framer{clip: c, read: read, mirror: -1, keepFrom: math.MaxInt64, hash: new(sampleHash)}
	if o.Pad == PadAudio {
		f.mirror = int64(o.Window) * HopLength
	}
	return f
}

func (f *framer) rewind() error {
	f.buf, f.base = f.buf[:0], 0
	return f.clip.Rewind()
}

// mirrored reports whether the clip is reflected at f.mirror. Until the end is known it returns false, which can
// be wrong only for frames that the reflection does not reach.
func (f *framer) mirrored() bool { return f.ended && f.n <= f.mirror }

// soundFrames returns the number of the first frame that covers only silence, for a signal of n samples.
func soundFrames(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n + windowSize/2 + HopLength - 1) / HopLength
}

// frames returns the samples that n frames cover, the first of which is t, and the number of frames: fewer than
// n up to where the reflection or the sound ends.
func (f *framer) frames(ctx context.Context, t int64, n int) (x []float32, got int, err error) {
	first := max(frameStart(t), 0)
	if first < f.base {
		if err := f.rewind(); err != nil {
			return nil, 0, err
		}
	}
	if err := f.load(ctx, first, frameStart(t+int64(n)-1)+windowSize); err != nil {
		return nil, 0, err
	}
	if f.ended {
		if n = int(min(int64(n), soundFrames(f.n)-t)); n <= 0 {
			return nil, 0, nil
		}
	}
	mirror := int64(-1)
	if left := f.mirror/HopLength - t; f.mirrored() && left > 0 {
		mirror, n = f.mirror, int(min(int64(n), left))
	}
	return f.samples.of(t, n, f.buf, f.base, mirror), n, nil
}

// load fills buf with the clip's samples from first to end, as far as there are any.
func (f *framer) load(ctx context.Context, first, end int64) error {
	const block = 1 << 14
	for f.base+int64(len(f.buf)) < end && !(f.ended && f.base+int64(len(f.buf)) == f.n) {
		if err := ctx.Err(); err != nil {
			return err
		}
		drop := max(0, min(first-f.base, f.keepFrom-f.base, int64(len(f.buf))))
		f.buf = f.buf[:copy(f.buf, f.buf[drop:])]
		f.base += drop
		if err := f.readBlock(ctx, block); err != nil {
			return err
		}
	}
	return nil
}

// readBlock appends up to n samples to buf.
func (f *framer) readBlock(ctx context.Context, n int) error {
	at := len(f.buf)
	f.buf = slices.Grow(f.buf, n)[:at+n]
	m, err := f.read(ctx, f.buf[at:])
	f.buf = f.buf[:at+m]
	read := f.base + int64(len(f.buf))
	switch {
	case err != nil && err != io.EOF:
		return err
	case f.ended:
		// A later pass must read the same samples as the first.
		if read > f.n || err == io.EOF && read < f.n {
			return named(f.clip.name,
				fmt.Errorf("the file changed while it was read: got %d samples, want %d", read, f.n))
		}
		return nil
	}
	if err := f.hash.add(f.buf[at:], f.clip.name, read-int64(m)); err != nil {
		return err
	}
	f.n, f.ended = read, err == io.EOF
	return nil
}

// A sampleHash is FNV-1a over the bits of samples, a sample instead of a byte at a time, with a last mixing
// step.
type sampleHash struct{ h uint64 }

func (s *sampleHash) add(pcm []float32, name string, at int64) error {
	const offset, prime = 14695981039346656037, 1099511628211
	h := s.h
	if at == 0 {
		h = offset
	}
	for i, v := range pcm {
		if !(math.Abs(float64(v)) <= tooLoud) {
			s := shape{rate: SampleRate}
			return named(name, badSample(s.at(at+int64(i))+fmt.Sprintf(" at %d Hz", SampleRate), float64(v)))
		}
		h = (h ^ uint64(math.Float32bits(v))) * prime
	}
	s.h = h
	return nil
}

func (s *sampleHash) sum(n int64) uint64 {
	h := s.h ^ uint64(n)
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}
