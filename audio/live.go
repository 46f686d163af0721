package audio

import (
	"cmp"
	"context"
	"fmt"
	"io"
)

// A Live computes the log-mel windows of a clip whose sound is still arriving. It differs from a Spectrogram in
// what is unknown before the end:
//
//   - the maximum that a window is clamped against is that of all frames up to the
//     window's end, not of the whole sound;
//   - Hash is a number the caller gave, not a hash of the samples.
//
// A window depends only on the samples before its end, not on when they arrived. For sound that fits into one
// window, windows have the bits of a Spectrogram's.
//
// It must not be used concurrently.
type Live struct {
	opt    Options
	id     uint64
	in     framer
	an     *analyzer
	logs   strip
	tops   []float32 // of each frame, the maximum up to it
	first  int64     // frame number of the first of logs and tops
	before float32   // the maximum of all frames before that
}

// NewLive starts to read a clip, until it or ctx ends. Nothing else may read the clip. id replaces the hash of
// a file: it seeds sampling, so equal ids and equal sound give equal transcripts.
func NewLive(ctx context.Context, c *Clip, id uint64, o Options) (*Live, error) {
	o = o.defaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &Live{opt: o, id: id, an: newAnalyzer(o.Bins), before: logFloor, logs: strip{bins: o.Bins}}
	l.in = newFramer(c, o, c.Arrivals(ctx, ahead))
	return l, nil
}

// ahead is how many tenths of a second are read in advance: five minutes.
const ahead = 3000

// Arrivals starts a goroutine that reads a clip until it or ctx ends, up to ahead tenths of a second in
// advance. It returns a function that reads the samples, and stops waiting when its context ends. Nothing else
// may read the clip; its Close ends the goroutine.
func (c *Clip) Arrivals(ctx context.Context, ahead int) func(context.Context, []float32) (int, error) {
	blocks, ended := make(chan arrived, ahead), make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	clip, files := *c, &Clip{closers: c.closers}
	c.closers = []func() error{func() error {
		if stop(); !c.live { // a read of live sound may never return; it uses nothing but its file
			<-ended
		}
		return files.Close()
	}}
	go func() {
		defer close(ended)
		clip.readTo(ctx, blocks)
	}()
	var b arrived
	return func(now context.Context, dst []float32) (n int, err error) {
		if len(b.pcm) == 0 && b.err == nil {
			var ok bool
			select {
			case b, ok = <-blocks:
				if !ok {
					return 0, cmp.Or(ctx.Err(), io.ErrUnexpectedEOF)
				}
			case <-now.Done():
				return 0, now.Err()
			}
		}
		n = copy(dst, b.pcm)
		c.read += int64(n)
		if b.pcm = b.pcm[n:]; len(b.pcm) == 0 {
			if err = b.err; err == io.EOF {
				c.reachEnd() // c and clip share what they read
			}
		}
		return n, err
	}
}

// An arrived is what a read has returned.
type arrived struct {
	pcm []float32
	err error
}

// readTo reads a clip until it or ctx ends. A read may outlast ctx.
func (c *Clip) readTo(ctx context.Context, blocks chan<- arrived) {
	defer close(blocks)
	for ctx.Err() == nil {
		pcm := make([]float32, SampleRate/10)
		n, err := c.Read(pcm)
		select {
		case blocks <- arrived{pcm[:n], err}:
		case <-ctx.Done():
		}
		if err != nil {
			return
		}
	}
}

// analyzed returns the number of the first frame not analyzed.
func (l *Live) analyzed() int64 { return l.first + int64(len(l.tops)) }

// analyze waits for the frames up to end, as far as there is sound.
func (l *Live) analyze(ctx context.Context, end int64) error {
	for l.analyzed() < end {
		x, n, err := l.in.frames(ctx, l.analyzed(), int(min(end-l.analyzed(), blockFrames)))
		if n <= 0 || err != nil {
			return err
		}
		logs, tops := l.an.block(x, n)
		l.logs.add(logs)
		for _, top := range tops {
			if l.in.mirrored() && l.analyzed() >= int64(l.opt.Window) {
				top = logFloor // as in a Spectrogram
			}
			l.tops = append(l.tops, max(top, l.top(l.analyzed()-1)))
		}
	}
	return nil
}

// top returns the maximum of all frames up to t.
func (l *Live) top(t int64) float32 {
	t = min(t, l.analyzed()-1)
	if t < l.first {
		return l.before
	}
	return l.tops[t-l.first]
}

// Reach waits for n frames of sound, or for the end, and returns how many frames there are.
func (l *Live) Reach(ctx context.Context, n int) (int, error) {
	err := l.in.load(ctx, max(frameStart(l.analyzed()), 0), int64(n)*HopLength)
	return int(l.in.n / HopLength), cmp.Or(err, ctx.Err())
}

// Unknown is what Frames returns before the length is known: more frames than any sound has.
const Unknown = 1 << 40

// Frames returns the number of frames once the sound has ended, Unknown before.
func (l *Live) Frames() int {
	if !l.in.ended {
		return Unknown
	}
	return int(l.in.n / HopLength)
}

// Start returns the frame in which the sound starts, as a Spectrogram does. It is known once Reach has returned.
func (l *Live) Start() int { return l.in.clip.startFrame() }

// Seconds returns the length of the sound so far.
func (l *Live) Seconds() float64 { return float64(l.in.n) / SampleRate }

// Hash returns the id passed to NewLive.
func (l *Live) Hash() uint64 { return l.id }

// Silence returns the value of cells where the sound is silent, clamped against all sound of the windows so
// far.
func (l *Live) Silence() float32 { return cell(logFloor, l.top(Unknown)) }

// Window returns the window that starts at frame, [Bins][Options.Window], as soon as it is full or the sound
// has ended. Windows must be asked for in ascending order; one may reach back by a window's length at most.
func (l *Live) Window(ctx context.Context, frame int) (*Mel, error) {
	return l.window(ctx, frame, l.opt.Pad)
}

// SilentWindow returns the window that starts at frame as Window does, but with silence after the end whatever
// Options.Pad is.
func (l *Live) SilentWindow(ctx context.Context, frame int) (*Mel, error) {
	return l.window(ctx, frame, PadAudio)
}

// Samples returns the samples of n frames that begin at frame, within the last window, as far as they have
// arrived. They are valid until the next call.
func (l *Live) Samples(_ context.Context, frame, n int) ([]float32, error) {
	return overlap(l.in.buf, l.in.base, int64(frame)*HopLength, int64(frame+n)*HopLength), nil
}

// window makes a window and drops frames more than a window before it.
func (l *Live) window(ctx context.Context, frame int, pad Pad) (*Mel, error) {
	from, size := int64(frame), int64(l.opt.Window)
	if from < l.first {
		return nil, fmt.Errorf("%s: window: got start frame %d, want %d or more", l.in.clip.name, from, l.first)
	}
	l.in.keepFrom = from * HopLength
	if err := l.analyze(ctx, from+size); err != nil {
		return nil, err
	}
	end := l.analyzed() // of sound
	if l.in.ended && pad == PadMel {
		end = min(end, l.in.n/HopLength)
	}
	at, sound := int(from-l.first), soundIn(from, end, l.opt.Window)
	m := newWindow(l.opt, pad, l.logs.cut(at, at+sound), l.top(from+size-1))
	if drop := min(from-size, l.analyzed()) - l.first; drop > 0 {
		l.before = l.tops[drop-1]
		l.tops = append(l.tops[:0], l.tops[drop:]...)
		l.logs.drop(int(drop))
		l.first += drop
	}
	return m, nil
}
