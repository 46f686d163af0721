package audio

import (
	"context"
	"fmt"
	"math"
)

// An Excerpt holds the frames of a part of a clip in memory, so that several parts can be
// read at the same time. Its frames count from the start of the clip, and its windows have
// the bits of those of the Spectrogram. It is immutable.
type Excerpt struct {
	known
	from int
	held strip // as far as there is sound
}

// Excerpt reads n frames from from on. Asking in ascending order is cheap, as with Window.
func (s *Spectrogram) Excerpt(ctx context.Context, from, n int) (*Excerpt, error) {
	if from < 0 || n < 0 {
		return nil, fmt.Errorf("%s: excerpt: got frame %d and length %d, want 0 or more", s.name, from, n)
	}
	e := &Excerpt{known: s.known, from: from, held: strip{bins: s.opt.Bins}}
	logs, err := s.logs(ctx, from, soundIn(int64(from), soundFrames(s.n), n))
	if err != nil {
		return nil, err
	}
	e.held.add(logs)
	e.logsOf = e.logs
	return e, nil
}

// logs is known.logsOf of frames in the excerpt, or behind the end of the clip.
func (e *Excerpt) logs(_ context.Context, frame, n int) (strip, error) {
	first, last := frame-e.from, frame-e.from+n
	if n == 0 && first >= 0 {
		return strip{}, nil
	}
	if first < 0 || last > e.held.frames {
		return strip{}, fmt.Errorf("%s: excerpt: got a window of frames %d to %d, want them within %d to %d",
			e.name, frame, frame+n, e.from, e.from+e.held.frames)
	}
	return e.held.cut(first, last), nil
}

// Quietest returns the frame from from to to, at most, around which so many frames are
// the quietest by the mean of their logarithms; the first of several. What lies outside of
// the excerpt is not considered.
func (e *Excerpt) Quietest(from, to, around int) int {
	from, to = max(from, e.from), min(to, e.from+e.held.frames)
	best, quiet := from, math.Inf(1)
	logs := make([]float32, e.opt.Bins)
	for at := from; at <= to; at++ {
		first := max(at-around/2-e.from, 0)
		last := min(first+around, e.held.frames)
		if last-first < around {
			break
		}
		sum := 0.0
		for t := first; t < last; t++ {
			e.held.frame(logs, t)
			for _, v := range logs {
				sum += float64(v)
			}
		}
		if sum < quiet {
			best, quiet = at, sum
		}
	}
	return best
}
