package audio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// A Live gives the log-mel windows of sound that is still arriving. It differs from a
// Spectrogram of a file in what cannot be known before the end:
//
//   - the maximum that a window is clamped against is that of all frames up to the
//     window's end, not of the whole sound;
//   - Hash is a number the caller gave, not a hash of the samples.
//
// A window depends only on the samples before its end, not on when they arrived. For
// sound that fits into one window, windows have the bits of a Spectrogram's.
//
// One goroutine may add sound while another asks for windows.
type Live struct {
	opt Options
	id  uint64

	mu      sync.Mutex
	changed *sync.Cond // of mu
	an      *analyzer
	buf     []float32 // samples that later frames need
	base    int64     // number of buf[0]
	n       int64     // samples added
	ended   bool
	run     sampleRun
	logs    strip
	tops    []float32 // of each frame, the maximum up to it
	first   int64     // frame number of the first of logs and tops
	before  float32   // the maximum of all frames before that
	asked   int64     // the latest window asked for
}

// ahead is how many frames are kept beyond the last window asked for: five minutes.
const ahead = 30000

// NewLive returns a Live without sound. id takes the place of the hash of a file: it
// seeds sampling, so equal ids and equal sound give equal transcripts.
func NewLive(id uint64, o Options) (*Live, error) {
	o = o.defaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &Live{opt: o, id: id, an: newAnalyzer(o.Bins), before: logFloor, logs: strip{bins: o.Bins}}
	l.changed = sync.NewCond(&l.mu)
	return l, nil
}

// Add appends mono samples at SampleRate. It blocks while more than five minutes of
// sound lie beyond the last window.
func (l *Live) Add(ctx context.Context, pcm []float32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := func() int64 { return (max(l.asked, 0)+ahead)*HopLength - l.n }
	for len(pcm) > 0 {
		if err := l.await(ctx, func() bool { return l.ended || room() > 0 }); err != nil {
			return err
		}
		if l.ended {
			return errors.New("audio: sound added behind the end of a live source")
		}
		some := pcm[:min(int64(len(pcm)), room(), 1<<14)]
		for i, v := range some {
			if !(math.Abs(float64(v)) <= tooLoud) {
				s := shape{rate: SampleRate}
				return named("live sound", noSample(s.at(l.n+int64(i)), float64(v)))
			}
		}
		l.buf = append(l.buf, some...)
		l.n += int64(len(some))
		l.analyze(blockFrames)
		l.changed.Broadcast()
		pcm = pcm[len(some):]
	}
	return ctx.Err()
}

// await waits for a change that makes something true, or for the end of ctx.
func (l *Live) await(ctx context.Context, is func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer stop()
	for !is() {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.changed.Wait()
	}
	return nil
}

// End says that no more sound will come.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		l.analyze(1)
		l.changed.Broadcast()
	}
}

// have returns the number of the first frame not analyzed.
func (l *Live) have() int64 { return l.first + int64(len(l.tops)) }

// ready returns the number of frames whose samples have all arrived. After the end, silence
// follows, as in a Spectrogram.
func (l *Live) ready() int64 {
	if l.ended {
		return soundFrames(l.n)
	}
	return max(0, l.n-WindowSize/2+HopLength) / HopLength
}

// analyze computes the frames that are ready, as long as there are at least so many: few
// take as long as a block.
func (l *Live) analyze(least int64) {
	window := int64(l.opt.Window)
	fits := l.ended && l.opt.Pad == PadAudio && l.n <= window*HopLength
	for {
		t := l.have()
		n := min(l.ready()-t, blockFrames)
		if n < least {
			return
		}
		mirror := int64(-1)
		if fits && t < window {
			mirror, n = window*HopLength, min(n, window-t)
		}
		used := max(frameStart(t), 0)
		if l.opt.Samples {
			used = min(used, max(l.asked, 0)*HopLength)
		}
		drop := max(0, min(used-l.base, int64(len(l.buf))))
		l.buf = l.buf[:copy(l.buf, l.buf[drop:])]
		l.base += drop
		logs, tops := l.an.block(l.run.of(t, int(n), l.buf, l.base, mirror), int(n))
		l.logs.add(logs)
		for _, top := range tops {
			if fits && t >= window {
				top = logFloor // as in a Spectrogram
			}
			l.tops = append(l.tops, max(top, l.top(l.have()-1)))
		}
	}
}

// top returns the maximum of all frames up to t.
func (l *Live) top(t int64) float32 {
	t = min(t, l.have()-1)
	if t < l.first {
		return l.before
	}
	return l.tops[t-l.first]
}

// Reach waits for so many full hops of sound, or for the end, and returns how many
// there are.
func (l *Live) Reach(ctx context.Context, frames int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.await(ctx, func() bool { return l.ended || l.n/HopLength >= int64(frames) })
	return int(l.n / HopLength), cmp.Or(err, ctx.Err())
}

// Unknown is the result of Frames before the length is known: more frames than any
// sound has.
const Unknown = 1 << 40

// Frames returns the number of frames once the sound has ended, Unknown before.
func (l *Live) Frames() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		return Unknown
	}
	return int(l.n / HopLength)
}

// Seconds returns the length of the sound so far.
func (l *Live) Seconds() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.n) / SampleRate
}

// Hash returns the number that NewLive was given.
func (l *Live) Hash() uint64 { return l.id }

// Silence returns the value of cells where the sound is silent, clamped against all
// sound that has arrived.
func (l *Live) Silence() float32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.analyze(1)
	return cell(logFloor, l.top(Unknown))
}

// Window returns the window that starts at frame, [Bins][Options.Window], as soon
// as it is full or the sound has ended. Windows must be asked for in ascending
// order; one may reach back by a window's length at most.
func (l *Live) Window(ctx context.Context, frame int) (*Mel, error) {
	return l.window(ctx, frame, l.opt.Pad)
}

// SilentWindow returns the window that starts at frame as Window does, but with
// silence after the end whatever Options.Pad says.
func (l *Live) SilentWindow(ctx context.Context, frame int) (*Mel, error) {
	return l.window(ctx, frame, PadAudio)
}

// Samples returns the samples of n frames of the last window, from frame on, as far as they
// have arrived. It needs Options.Samples.
func (l *Live) Samples(_ context.Context, frame, n int) ([]float32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(within(l.buf, l.base, int64(frame)*HopLength, int64(frame+n)*HopLength)), nil
}

func (l *Live) window(ctx context.Context, frame int, pad Pad) (*Mel, error) {
	if frame < 0 {
		return nil, fmt.Errorf("live sound: window: got start frame %d, want 0 or more", frame)
	}
	from, size := int64(frame), int64(l.opt.Window)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked < from {
		l.asked = from
		l.changed.Broadcast() // there is room for more sound
	}
	if err := l.await(ctx, func() bool { return l.ended || l.ready() >= from+size }); err != nil {
		return nil, err
	}
	l.analyze(1)
	return l.render(from, size, pad)
}

// render makes a window of the frames that have arrived and drops frames more than a
// window before it.
func (l *Live) render(from, size int64, pad Pad) (*Mel, error) {
	if from < l.first {
		return nil, fmt.Errorf("live sound: window: got start frame %d, want %d or more: what came before is forgotten",
			from, l.first)
	}
	top := l.top(from + size - 1)
	end := l.have() // of sound
	if l.ended && pad == PadMel {
		end = min(end, l.n/HopLength)
	}
	sound := soundIn(from, end, l.opt.Window)
	m := newWindow(l.opt, pad, l.logs.cut(int(from-l.first), int(from-l.first)+sound), top)
	if drop := min(from-size, l.have()) - l.first; drop > 0 {
		l.before = l.tops[drop-1]
		l.tops = append(l.tops[:0], l.tops[drop:]...)
		l.logs.drop(int(drop))
		l.first += drop
	}
	return m, nil
}
