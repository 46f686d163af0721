package audio

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// An Excerpt is a part of a clip with its frames in memory, so that several parts can be read at the same time.
// Frame numbers count from the start of the clip, and windows equal those of the Spectrogram bit for bit. An
// Excerpt is immutable.
type Excerpt struct {
	measured
	from  int
	sound strip // of the frames from on, as far as there is sound
	pcm   []float32
}

// Excerpt reads n frames, the first of which is from. Ascending order is cheap, as with Window.
func (s *Spectrogram) Excerpt(ctx context.Context, from, n int) (*Excerpt, error) {
	if from < 0 || n < 0 {
		return nil, fmt.Errorf("%s: excerpt: got frame %d and length %d, want 0 or more", s.name, from, n)
	}
	e := &Excerpt{measured: s.measured, from: from, sound: strip{bins: s.opt.Bins}}
	logs, err := s.logs(ctx, from, soundIn(int64(from), soundFrames(s.n), n))
	if err != nil {
		return nil, err
	}
	e.sound.add(logs)
	e.readLogs = e.logs
	pcm, err := s.Samples(ctx, from, n)
	e.pcm = slices.Clone(pcm)
	return e, err
}

// Samples returns the samples of n frames that begin at frame, as far as the excerpt has them.
func (e *Excerpt) Samples(_ context.Context, frame, n int) ([]float32, error) {
	return overlap(e.pcm, int64(e.from)*HopLength, int64(frame)*HopLength, int64(frame+n)*HopLength), nil
}

// logs is measured.readLogs for frames in the excerpt, or after the end of the clip.
func (e *Excerpt) logs(_ context.Context, frame, n int) (strip, error) {
	first, last := frame-e.from, frame-e.from+n
	if n == 0 && first >= 0 {
		return strip{}, nil
	}
	if first < 0 || last > e.sound.frames {
		return strip{}, fmt.Errorf("%s: excerpt: got a window of frames %d to %d, want them within %d to %d",
			e.name, frame, frame+n, e.from, e.from+e.sound.frames)
	}
	return e.sound.cut(first, last), nil
}

// Quietest returns the quietest frame of from … to, or the first of several: the one with the lowest mean
// logarithm over the around frames about it. It considers only frames in the excerpt.
func (e *Excerpt) Quietest(from, to, around int) int {
	from, to = max(from, e.from), min(to, e.from+e.sound.frames)
	best, quiet := from, math.Inf(1)
	logs := make([]float32, e.opt.Bins)
	for at := from; at <= to; at++ {
		first := max(at-around/2-e.from, 0)
		last := min(first+around, e.sound.frames)
		if last-first < around {
			break
		}
		sum := 0.0
		for t := first; t < last; t++ {
			e.sound.frame(logs, t)
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
