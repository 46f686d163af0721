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
	opt    Options
	clip   string
	frames int // of the clip
	sound  int64
	length float64
	hash   uint64
	top    float32

	from int
	logs strip // as far as there is sound
}

// Excerpt reads n frames from from on. Asking in ascending order is cheap, as with Window.
func (s *Spectrogram) Excerpt(ctx context.Context, from, n int) (*Excerpt, error) {
	if from < 0 || n < 0 {
		return nil, fmt.Errorf("%s: excerpt: got frame %d and length %d, want 0 or more", s.in.clip.name, from, n)
	}
	e := &Excerpt{
		opt: s.opt, clip: s.in.clip.name, frames: s.Frames(), sound: soundFrames(s.in.n), length: s.Seconds(),
		hash: s.hash, top: s.top, from: from, logs: strip{bins: s.opt.Bins},
	}
	logs, err := s.logs(ctx, int64(from), int(min(int64(n), max(e.sound-int64(from), 0))))
	if err != nil {
		return nil, err
	}
	e.logs.add(logs)
	return e, nil
}

// Frames returns the number of frames of the clip.
func (e *Excerpt) Frames() int { return e.frames }

// Reach returns the number of frames of the clip.
func (e *Excerpt) Reach(ctx context.Context, _ int) (int, error) { return e.frames, ctx.Err() }

// Seconds returns the length of the clip in seconds.
func (e *Excerpt) Seconds() float64 { return e.length }

// Hash returns the hash of the clip.
func (e *Excerpt) Hash() uint64 { return e.hash }

// Silence returns what every cell of a window holds behind the end of the clip with
// PadAudio.
func (e *Excerpt) Silence() float32 { return cell(logFloor, e.top) }

// Window returns the window that starts at frame, as Spectrogram.Window does. What it
// hears of the clip must lie in the excerpt.
func (e *Excerpt) Window(_ context.Context, frame int) (*Mel, error) {
	return e.window(frame, e.opt.Pad)
}

// SilentWindow returns the window that starts at frame, as Spectrogram.SilentWindow does.
func (e *Excerpt) SilentWindow(_ context.Context, frame int) (*Mel, error) {
	return e.window(frame, PadAudio)
}

func (e *Excerpt) window(frame int, pad Pad) (*Mel, error) {
	end := e.sound
	if pad == PadMel {
		end = int64(e.frames)
	}
	n := soundIn(int64(frame), end, e.opt.Window)
	first, last := frame-e.from, frame-e.from+n
	if n == 0 && first >= 0 {
		return newWindow(e.opt, pad, strip{}, e.top), nil // behind the end
	}
	if first < 0 || last > e.logs.frames {
		return nil, fmt.Errorf("%s: excerpt: got a window of frames %d to %d, want them within %d to %d",
			e.clip, frame, frame+n, e.from, e.from+e.logs.frames)
	}
	return newWindow(e.opt, pad, e.logs.cut(first, last), e.top), nil
}

// Quietest returns the frame from from to to, at most, around which so many frames are
// the quietest by the mean of their logarithms; the first of several. What lies outside of
// the excerpt is not considered.
func (e *Excerpt) Quietest(from, to, around int) int {
	from, to = max(from, e.from), min(to, e.from+e.logs.frames)
	best, quiet := from, math.Inf(1)
	logs := make([]float32, e.opt.Bins)
	for at := from; at <= to; at++ {
		first := max(at-around/2-e.from, 0)
		last := min(first+around, e.logs.frames)
		if last-first < around {
			break
		}
		sum := 0.0
		for t := first; t < last; t++ {
			e.logs.frame(logs, t)
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
