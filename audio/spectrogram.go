package audio

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Pad says what fills a window behind the end of the clip.
type Pad int

const (
	// PadAudio fills the audio with silence, as models were trained: transformers
	// and whisper.cpp do so.
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

	// Pad says what follows the end of the clip.
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

// prepare returns o with defaults, checked, and an analyzer for it.
func (o Options) prepare() (Options, *analyzer, error) {
	o = o.defaults()
	if err := o.check(); err != nil {
		return o, nil, err
	}
	an, err := newAnalyzer(o.Bins)
	return o, an, err
}

// headFrames is how many frames the first pass keeps, so that clips of up to five
// minutes are analysed once: at most 15 MB.
const headFrames = 30000

// A Spectrogram gives the log-mel windows of a clip in bounded memory.
//
// A first pass over the clip finds its length and the maximum of the logarithm over all
// frames, against which every window is clamped; windows are then slices of one
// spectrogram. What frames at the ends contain:
//
//   - before the first sample, the signal reflected, as in every upstream;
//   - after the last one, silence, as with the 30 s of it openai appends;
//   - but with PadAudio, a clip that fits into one window is filled with silence
//     up to the window's end and reflected there, as WhisperFeatureExtractor
//     does. (Only the very last frame of the window sees that.)
//
// Frames counts full hops. A tail shorter than that has no frame of its own but is not
// lost: the last frame covers its first 40 samples, and with PadAudio the frames after
// the end cover all of it, unless a window ends exactly there. It counts in Seconds,
// Hash and the maximum.
//
// A Spectrogram reads its clip, which must not be read otherwise meanwhile. It must not
// be used concurrently.
type Spectrogram struct {
	opt  Options
	in   framer
	an   *analyzer
	hash uint64
	top  float32   // file-wide maximum of the logarithms
	head []float32 // logarithms of the first frames, [frame][Bins]

	// For the current block of the first pass: whether its frames are kept in head, and
	// count for the maximum.
	kept, counted bool

	recent []float32 // logarithms of the last window's frames
	first  int64     // frame number of recent
}

// NewSpectrogram makes the first pass over c, from its beginning.
func NewSpectrogram(ctx context.Context, c *Clip, o Options) (*Spectrogram, error) {
	o, an, err := o.prepare()
	if err != nil {
		return nil, err
	}
	s := &Spectrogram{opt: o, an: an, top: logFloor}
	s.in = framer{clip: c, mirror: -1, hash: new(sampleHash)}
	if o.Pad == PadAudio {
		s.in.mirror = int64(o.Window) * HopLength
	}
	if err := s.firstPass(ctx); err != nil {
		return nil, err
	}
	s.hash = s.in.hash.sum(s.in.n)
	s.in.hash = nil
	return s, nil
}

// firstPass reads the whole clip, keeps the first frames and finds the maximum. Of the
// frames it does not keep, it transforms only those that may exceed the maximum so far.
func (s *Spectrogram) firstPass(ctx context.Context) error {
	if err := s.in.rewind(); err != nil {
		return err
	}
	var x frameSamples
	for t := int64(0); ; t++ {
		if err := s.in.frame(ctx, t, &x); err != nil {
			return err
		}
		if s.in.ended && t >= soundFrames(s.in.n) {
			s.take()
			return nil
		}
		if t == headFrames || t == int64(s.opt.Window) {
			s.take() // all frames of a block are of one kind
		}
		if t >= headFrames && s.an.below(&x, math.Pow(10, float64(s.top)-1e-6)) {
			continue
		}
		s.an.add(&x)
		s.kept, s.counted = t < headFrames, !s.in.mirrored() || t < int64(s.opt.Window)
		if s.an.full() {
			s.take()
		}
	}
}

// take ends a block of the first pass.
func (s *Spectrogram) take() {
	for row, top := range s.an.frames() {
		if s.kept {
			s.head = append(s.head, row...)
		}
		if s.counted {
			s.top = max(s.top, top)
		}
	}
}

// Frames returns the number of frames of the clip: full hops.
func (s *Spectrogram) Frames() int { return int(s.in.n / HopLength) }

// Reach returns the number of frames of the clip. (For a Live, it waits.)
func (s *Spectrogram) Reach(ctx context.Context, frames int) (int, error) {
	return s.Frames(), ctx.Err()
}

// Seconds returns the length of the clip in seconds.
func (s *Spectrogram) Seconds() float64 { return float64(s.in.n) / SampleRate }

// Hash returns a hash of the bits of all samples. Equal audio has equal hashes,
// whatever the file format.
func (s *Spectrogram) Hash() uint64 { return s.hash }

// Window returns the window that starts at frame, [Bins][Options.Window]. Asking
// in ascending order is cheap; going back reads the clip again from the start,
// unless it is short enough to be kept. Frame may lie beyond the end.
func (s *Spectrogram) Window(ctx context.Context, frame int) (*Mel, error) {
	return s.window(ctx, frame, s.opt.Pad)
}

// SilentWindow returns the window that starts at frame as Window does, but with
// silence after the end of the clip whatever Options.Pad says. With PadMel that
// is what openai's language detection sees, while its decoding sees zeros.
func (s *Spectrogram) SilentWindow(ctx context.Context, frame int) (*Mel, error) {
	return s.window(ctx, frame, PadAudio)
}

// Silence returns the value of all cells behind the end of the clip with PadAudio.
func (s *Spectrogram) Silence() float32 { return cell(logFloor, s.top) }

func (s *Spectrogram) window(ctx context.Context, frame int, pad Pad) (*Mel, error) {
	if frame < 0 {
		return nil, fmt.Errorf("%s: window: got start frame %d, want 0 or more", s.in.clip.name, frame)
	}
	end := soundFrames(s.in.n) // frames from here on are silent
	if pad == PadMel {
		end = int64(s.Frames())
	}
	logs, err := s.logs(ctx, int64(frame), soundIn(int64(frame), end, s.opt.Window))
	if err != nil {
		return nil, err
	}
	return newWindow(s.opt, pad, logs, s.top), nil
}

// soundIn returns how many frames of a window from from on lie before end.
func soundIn(from, end int64, window int) int { return int(min(max(end-from, 0), int64(window))) }

// newWindow makes a window of the logarithms of its first frames. Nothing is heard behind
// them.
func newWindow(o Options, pad Pad, logs []float32, top float32) *Mel {
	m := &Mel{Bins: o.Bins, Frames: o.Window, Data: make([]float32, o.Bins*o.Window)}
	m.put(0, logs, top)
	if pad == PadAudio {
		sound := len(logs) / o.Bins
		m.put(sound, silence((m.Frames-sound)*o.Bins), top)
	}
	return m
}

func silence(n int) []float32 {
	logs := make([]float32, n)
	for i := range logs {
		logs[i] = logFloor
	}
	return logs
}

// logs returns the logarithms of n frames from from on, all of which must lie within
// the sound. The result is valid until the next call.
func (s *Spectrogram) logs(ctx context.Context, from int64, n int) ([]float32, error) {
	bins := s.opt.Bins
	have := int64(len(s.head) / bins)
	if from+int64(n) <= have {
		return s.head[int(from)*bins:][:n*bins], nil
	}
	var logs []float32
	if from < have {
		logs = append(logs, s.head[int(from)*bins:]...)
	}
	// Frames shared with the last window have been computed already.
	t := from + int64(len(logs)/bins)
	if i := (t - s.first) * int64(bins); i >= 0 && i < int64(len(s.recent)) {
		logs = append(logs, s.recent[i:]...)
	}
	logs = logs[:min(len(logs), n*bins)]
	var x frameSamples
	s.an.reset()
	for i := len(logs) / bins; i < n; i++ {
		if err := s.in.frame(ctx, from+int64(i), &x); err != nil {
			return nil, err
		}
		if s.an.add(&x); s.an.full() || i == n-1 {
			for row := range s.an.frames() {
				logs = append(logs, row...)
			}
		}
	}
	s.first, s.recent = from, logs
	return logs, nil
}

// A framer gathers the samples of frames from a clip, in ascending order; going
// back makes it start again.
type framer struct {
	clip   *Clip
	mirror int64 // reflect at this sample if the clip is no longer than that; -1: never
	buf    []float32
	base   int64 // number of buf[0] in the clip
	ended  bool
	n      int64       // samples read so far, all of them once ended
	hash   *sampleHash // nil after the first pass
}

func (f *framer) rewind() error {
	f.buf, f.base = f.buf[:0], 0
	return f.clip.Rewind()
}

// mirrored reports whether the clip is reflected at f.mirror. Before the end is known,
// it may be wrong for frames on which it has no effect.
func (f *framer) mirrored() bool { return f.ended && f.n <= f.mirror }

// soundFrames returns the number of the first frame that covers only silence, for a
// signal of n samples.
func soundFrames(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n + WindowSize/2 + HopLength - 1) / HopLength
}

// frame fills x with the samples of frame t.
func (f *framer) frame(ctx context.Context, t int64, x *frameSamples) error {
	first := frameStart(t)
	if max(first, 0) < f.base {
		if err := f.rewind(); err != nil {
			return err
		}
	}
	if err := f.load(ctx, max(first, 0), first+WindowSize); err != nil {
		return err
	}
	x.gather(t, f.buf, f.base, f.base+int64(len(f.buf)))
	switch {
	case f.mirrored() && t*HopLength < f.mirror:
		x.reflect(t, f.mirror)
	case first < 0:
		x.reflect(t, first+WindowSize)
	}
	return nil
}

// load fills buf with the clip's samples from first to end, as far as there are any.
func (f *framer) load(ctx context.Context, first, end int64) error {
	const block = 1 << 14
	for f.base+int64(len(f.buf)) < end && !(f.ended && f.base+int64(len(f.buf)) == f.n) {
		if err := ctx.Err(); err != nil {
			return err
		}
		drop := min(first-f.base, int64(len(f.buf)))
		f.buf = f.buf[:copy(f.buf, f.buf[drop:])]
		f.base += drop
		if err := f.readBlock(block); err != nil {
			return err
		}
	}
	return nil
}

// readBlock appends up to n samples to buf.
func (f *framer) readBlock(n int) error {
	at := len(f.buf)
	f.buf = append(f.buf, make([]float32, n)...)
	m, err := f.clip.Read(f.buf[at:])
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

// A sampleHash is FNV-1a over the bits of samples, a sample instead of a byte at
// a time, with a last mixing step.
type sampleHash struct{ h uint64 }

func (s *sampleHash) add(pcm []float32, name string, at int64) error {
	const offset, prime = 14695981039346656037, 1099511628211
	h := s.h
	if at == 0 {
		h = offset
	}
	for i, v := range pcm {
		if v-v != 0 { // NaN or infinite
			s := shape{rate: SampleRate}
			return named(name, malformed(s.at(at+int64(i))+fmt.Sprintf(" at %d Hz", SampleRate),
				"a finite number", "%v", v))
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
