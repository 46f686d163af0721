package audio

import "fmt"

// A Feed resamples sound that arrives piece by piece to SampleRate. All of its output together equals a Clip of
// the same samples. It must not be used concurrently.
type Feed struct {
	in  *memory
	out mono
}

// NewFeed returns a Feed for mono sound of a rate in samples per second.
func NewFeed(rate int) (*Feed, error) {
	s := shape{rate: rate, channels: 1}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	f := &Feed{in: &memory{more: true}}
	f.out = f.in
	if rate != SampleRate {
		f.out = newResampler(f.in, rate)
	}
	return f, nil
}

// Add appends samples and returns the output that is ready. The filter looks ahead, so the last few inputs
// yield output only when more samples follow.
func (f *Feed) Add(pcm []float32) []float32 {
	f.in.pcm, f.in.pos = append(f.in.pcm[:0], pcm...), 0 // drain has read those before
	return f.drain()
}

// End returns the rest of the output. Add must not be called after it.
func (f *Feed) End() []float32 {
	f.in.more = false
	return f.drain()
}

func (f *Feed) drain() (out []float32) {
	for {
		block := make([]float32, 4096)
		n, err := f.out.read(block)
		out = append(out, block[:n]...)
		if err != nil { // the end, or more samples are still to come
			return out
		}
	}
}
