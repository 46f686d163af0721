package audio

import (
	"context"
	"fmt"
	"slices"

	"verity/internal/kernel"
)

// Pad is what fills a window after the end of the clip.
type Pad int

const (
	// PadAudio fills the audio with silence, as models were trained: transformers and whisper.cpp do so.
	PadAudio Pad = iota
	// PadMel sets the features to 0, as openai's transcribe does.
	PadMel
)

// Options configures a Spectrogram.
type Options struct {
	// Bins is the number of mel bins, as the model states it. 0 means 80.
	Bins int

	// Window is the number of frames in a window. 0 means 3000, 30 s.
	Window int

	// Pad is what follows the end of the clip.
	Pad Pad
}

func (o Options) defaults() Options {
	if o.Bins == 0 {
		o.Bins = 80
	}
	if o.Window == 0 {
		o.Window = 3000
	}
	return o
}

// maxWindow bounds Options.Window: ten minutes of 128 bins are 30 MB.
const maxWindow = 60000

// check reports the first unusable field of o, after defaults.
func (o Options) check() error {
	switch {
	case o.Bins < 1 || o.Bins > maxBins:
		return fmt.Errorf("audio: option Bins: got %d, want 1 to %d", o.Bins, maxBins)
	case o.Window < 2 || o.Window > maxWindow:
		return fmt.Errorf("audio: option Window: got %d frames, want 2 to %d", o.Window, maxWindow)
	case o.Pad != PadAudio && o.Pad != PadMel:
		return fmt.Errorf("audio: option Pad: got %d, want PadAudio or PadMel", o.Pad)
	}
	return nil
}

// headFrames is how many frames the first pass stores, so that clips of up to five minutes are analysed once:
// at most 15 MB.
const headFrames = 469 * blockFrames

// A Spectrogram computes the log-mel windows of a clip in bounded memory.
//
// A first pass over the clip finds its length and the maximum of the logarithm over all frames, against which
// every window is clamped; windows are then slices of one spectrogram. What frames at the ends contain:
//
//   - before the first sample, the signal reflected, as in every upstream;
//   - after the last sample, silence: upstream appends 30 s of it;
//   - but with PadAudio, a clip that fits into one window is filled with silence
//     up to the window's end and reflected there, as WhisperFeatureExtractor
//     does. (Only the very last frame of the window sees that.)
//
// Frames counts full hops. If the clip ends with less than a hop, that tail has no frame of its own. The last
// frame still covers its first 40 samples. With PadAudio the frames after the end cover all of it, unless a
// window ends exactly there. Seconds, Hash and the maximum include it.
//
// Nothing else may read the clip meanwhile. A Spectrogram must not be used concurrently.
type Spectrogram struct {
	measured
	in   framer
	an   *analyzer
	head strip // the first frames
}

// A measured clip has been read once: its length and its maximum are known.
type measured struct {
	opt   Options
	name  string
	n     int64 // samples
	start int   // frame in which the sound starts
	hash  uint64
	top   float32 // maximum of the logarithms

	// readLogs returns the logarithms of n frames, the first of which is from. All must lie within the sound.
	// They are valid until the next call, and nothing may be added to them.
	readLogs func(ctx context.Context, from, n int) (strip, error)
}

// Start returns the frame in which the sound starts: 0, unless that is late; see Clip.Start.
func (m *measured) Start() int { return m.start }

// NewSpectrogram makes the first pass over c, from its beginning.
func NewSpectrogram(ctx context.Context, c *Clip, o Options) (*Spectrogram, error) {
	o = o.defaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Spectrogram{measured: measured{opt: o, name: c.name}, an: newAnalyzer(o.Bins)}
	s.readLogs = s.logs
	for again := true; again; again = c.rescaled() {
		s.head, s.top = strip{bins: o.Bins}, logFloor
		s.in = newFramer(c, o, func(_ context.Context, dst []float32) (int, error) { return c.Read(dst) })
		if err := s.firstPass(ctx); err != nil {
			return nil, err
		}
	}
	s.n, s.hash, s.start = s.in.n, s.in.hash.sum(s.in.n), c.startFrame()
	s.in.hash = nil
	return s, nil
}

// firstPass reads the whole clip, stores the first frames and finds the maximum.
func (s *Spectrogram) firstPass(ctx context.Context) error {
	if err := s.in.rewind(); err != nil {
		return err
	}
	for t := int64(0); ; {
		x, n, err := s.in.frames(ctx, t, blockFrames)
		if n <= 0 || err != nil {
			return err
		}
		logs, tops := s.an.block(x, n)
		if t < headFrames {
			s.head.add(logs)
		}
		if !s.in.mirrored() || t < int64(s.opt.Window) {
			s.top = max(s.top, slices.Max(tops))
		}
		t += int64(n)
	}
}

// Frames returns the number of frames of the clip: full hops.
func (m *measured) Frames() int { return int(m.n / HopLength) }

// Reach returns the number of frames of the clip. (For a Live, it waits.)
func (m *measured) Reach(ctx context.Context, _ int) (int, error) { return m.Frames(), ctx.Err() }

// Seconds returns the length of the clip in seconds.
func (m *measured) Seconds() float64 { return float64(m.n) / SampleRate }

// Hash returns a hash of the bits of all samples. Equal audio has equal hashes, whatever the file format.
func (m *measured) Hash() uint64 { return m.hash }

// Silence returns the value of all cells after the end of the clip with PadAudio.
func (m *measured) Silence() float32 { return cell(logFloor, m.top) }

// Window returns the window that starts at frame, [Bins][Options.Window]. Asking in ascending order is cheap;
// going back reads the clip again from the start, unless it is short enough to be kept. Frame may lie beyond
// the end.
func (m *measured) Window(ctx context.Context, frame int) (*Mel, error) {
	return m.window(ctx, frame, m.opt.Pad)
}

// SilentWindow returns the window that starts at frame as Window does, but with silence after the end of the
// clip whatever Options.Pad is. With PadMel that is what openai's language detection sees, while its decoding
// sees zeros.
func (m *measured) SilentWindow(ctx context.Context, frame int) (*Mel, error) {
	return m.window(ctx, frame, PadAudio)
}

func (m *measured) window(ctx context.Context, frame int, pad Pad) (*Mel, error) {
	if frame < 0 {
		return nil, fmt.Errorf("%s: window: got start frame %d, want 0 or more", m.name, frame)
	}
	end := soundFrames(m.n) // the first silent frame
	if pad == PadMel {
		end = int64(m.Frames())
	}
	logs, err := m.readLogs(ctx, frame, soundIn(int64(frame), end, m.opt.Window))
	if err != nil {
		return nil, err
	}
	return newWindow(m.opt, pad, logs, m.top), nil
}

// Samples returns the samples of n frames that begin at frame, as far as there are any. They are valid until
// the next call. Samples before the last window are read again.
func (s *Spectrogram) Samples(ctx context.Context, frame, n int) ([]float32, error) {
	from, to := int64(frame)*HopLength, int64(frame+n)*HopLength
	if from < s.in.base {
		if err := s.in.rewind(); err != nil {
			return nil, err
		}
	}
	if err := s.in.load(ctx, from, to); err != nil {
		return nil, err
	}
	return overlap(s.in.buf, s.in.base, from, to), nil
}

// overlap returns the part of the samples from … to-1 that is in a buffer whose first is base.
func overlap(buf []float32, base, from, to int64) []float32 {
	end := base + int64(len(buf))
	return buf[min(max(from, base), end)-base : min(max(to, base), end)-base]
}

// soundIn returns how many frames of a window that begins at from lie before end.
func soundIn(from, end int64, window int) int { return int(min(max(end-from, 0), int64(window))) }

// newWindow makes a window of the logarithms of its first frames. The others are silent.
func newWindow(o Options, pad Pad, logs strip, top float32) *Mel {
	m := &Mel{Bins: o.Bins, Frames: o.Window, Data: make([]float32, o.Bins*o.Window)}
	logs.each(func(bin, frame int, logs []float32) {
		kernel.ScaleLogMel(m.Data[bin*m.Frames+frame:], logs, top-8)
	})
	if pad == PadAudio {
		silence := slices.Repeat([]float32{cell(logFloor, top)}, m.Frames-logs.frames)
		for b := range m.Bins {
			copy(m.Data[b*m.Frames+logs.frames:], silence)
		}
	}
	return m
}

// logs is measured.readLogs. It reads the clip if it must.
func (s *Spectrogram) logs(ctx context.Context, from, n int) (strip, error) {
	s.in.keepFrom = max(frameStart(int64(from)), 0)
	if from+n <= s.head.frames {
		return s.head.cut(from, from+n), nil
	}
	logs := strip{bins: s.opt.Bins}
	if from < s.head.frames {
		logs.add(s.head.cut(from, s.head.frames))
	}
	for logs.frames < n {
		x, m, err := s.in.frames(ctx, int64(from+logs.frames), min(n-logs.frames, blockFrames))
		if err != nil {
			return strip{}, err
		}
		block, _ := s.an.block(x, m)
		logs.add(block)
	}
	return logs, nil
}
