package audio

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A slow is a signal that arrives in pieces of at most step samples, the first limit of them
// at once and the others when more is closed.
type slow struct {
	memory
	step, limit int
	more        chan struct{}
}

func (s *slow) read(dst []float32) (int, error) {
	if s.pos >= s.limit {
		<-s.more
		return s.memory.read(dst)
	}
	return s.memory.read(dst[:min(len(dst), s.step, s.limit-s.pos)])
}

// clipOf returns a clip of a signal.
func clipOf(name string, src mono) *Clip {
	c := FromSamples(name, nil)
	c.src = src
	return c
}

func newTestLive(t testing.TB, o Options, src mono) *Live {
	t.Helper()
	l, err := NewLive(t.Context(), clipOf("live sound", src), 7, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLiveIsSpectrogram wants the bits of a Spectrogram for sound that fits into one
// window, whatever pieces it comes in.
func TestLiveIsSpectrogram(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Window: 50, Pad: Pad(rapid.IntRange(0, 1).Draw(rt, "pad"))}
		n := rapid.OneOf(rapid.IntRange(0, 8000), rapid.IntRange(7700, 8000)).Draw(rt, "samples")
		pcm := testSignal("bursts", n)
		l := newTestLive(t, o, &slow{memory{pcm: pcm}, rapid.IntRange(1, 3000).Draw(rt, "step"), n + 1, nil})
		got, err := l.Window(t.Context(), 0)
		if err != nil {
			rt.Fatal(err)
		}
		s := newTestSpectrogram(t, pcm, o)
		want, err := s.Window(t.Context(), 0)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(got.Data, want.Data) {
			rt.Fatal("a live window differs from the file's")
		}
		if l.Frames() != s.Frames() || l.Seconds() != s.Seconds() || l.Silence() != s.Silence() || l.Hash() != 7 {
			rt.Fatalf("%d frames, %v s, silence %v, hash %d", l.Frames(), l.Seconds(), l.Silence(), l.Hash())
		}
	})
}

// TestLiveRunningMaximum wants each window of longer sound clamped against what
// came before its end: the bits of a Spectrogram of the sound cut off there.
func TestLiveRunningMaximum(t *testing.T) {
	const window = 60
	pcm := testSignal("noise", 4*SampleRate)
	for i := range pcm {
		pcm[i] *= float32(math.Pow(10, float64(i)/SampleRate-4)) // ever louder
	}
	for _, step := range []int{1 << 20, 1601, 37} {
		l := newTestLive(t, Options{Window: window, Pad: PadMel}, &slow{memory{pcm: pcm}, step, len(pcm) + 1, nil})
		for _, from := range []int{0, 10, 60, 130, 100, 200, 330} {
			got, err := l.Window(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			// The frames of the window see 40 samples after its end.
			cut := min((from+window)*HopLength+40, len(pcm))
			s := newTestSpectrogram(t, pcm[:cut], Options{Window: window, Pad: PadMel})
			s.top = slices.Max(tops(s, from+window))
			want, err := s.Window(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Data, want.Data) {
				t.Errorf("steps of %d: window at %d differs", step, from)
			}
		}
		if _, err := l.Window(t.Context(), 200); err == nil || !strings.Contains(err.Error(), "or more") {
			t.Errorf("a window long gone: error %v", err)
		}
	}
}

// tops returns the maxima of the first n frames.
func tops(s *Spectrogram, n int) []float32 {
	list := []float32{logFloor}
	logs := make([]float32, s.opt.Bins)
	for t := range min(n, s.head.frames) {
		s.head.frame(logs, t)
		list = append(list, slices.Max(logs))
	}
	return list
}

// TestLiveWaits checks that a window waits for its sound, that Reach does, and
// that both give up with the context.
func TestLiveWaits(t *testing.T) {
	src := &slow{memory{pcm: testSignal("noise", SampleRate/10+3*HopLength)}, 1000, SampleRate / 10, make(chan struct{})}
	l := newTestLive(t, Options{Window: 50}, src)
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if n, err := l.Reach(t.Context(), 10); n != 10 || err != nil {
		t.Errorf("Reach = %d, %v, want 10", n, err)
	}
	if _, err := l.Window(soon, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("window before its sound: error %v", err)
	}
	if n, err := l.Reach(soon, 11); n != 10 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Reach before the sound: %d, %v", n, err)
	}
	if l.Frames() != Unknown {
		t.Errorf("%d frames before the end, want Unknown", l.Frames())
	}
	close(src.more)
	if n, err := l.Reach(t.Context(), 200); n != 13 || err != nil || l.Frames() != 13 {
		t.Errorf("Reach at the end = %d, %v, %d frames, want 13", n, err, l.Frames())
	}
	if _, err := l.Window(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// TestLiveHoldsBack: no more is read ahead than five minutes, and what was read is all there.
func TestLiveHoldsBack(t *testing.T) {
	src := &counted{memory: memory{pcm: make([]float32, 11*60*SampleRate)}}
	l := newTestLive(t, Options{Bins: 1, Window: 3000}, src)
	const most = (ahead + 1) * SampleRate / 10
	for deadline := time.Now().Add(time.Minute); src.n.Load() < most && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if n := src.n.Load(); n > most {
		t.Fatalf("%d samples were read ahead, want %d at most", n, most)
	}
	for from := 0; from < 66000; from += 3000 {
		if n, err := l.Reach(t.Context(), from+3000); n < from+3000 || err != nil {
			t.Fatalf("Reach %d = %d, %v", from+3000, n, err)
		}
		if _, err := l.Window(t.Context(), from); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := l.Reach(t.Context(), 66001); n != 66000 || err != nil {
		t.Errorf("%d frames, %v", n, err)
	}
	if cap(l.in.buf) > 90*SampleRate || l.logs.frames > 6000+blockFrames {
		t.Errorf("%d samples and %d frames are kept", cap(l.in.buf), l.logs.frames)
	}
}

// A counted signal counts what was read of it.
type counted struct {
	memory
	n atomic.Int64
}

func (c *counted) read(dst []float32) (int, error) {
	n, err := c.memory.read(dst)
	c.n.Add(int64(n))
	return n, err
}

func TestLiveFails(t *testing.T) {
	l := newTestLive(t, Options{}, &memory{pcm: []float32{0, float32(math.NaN())}})
	if _, err := l.Window(t.Context(), 0); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "sample 1") {
		t.Errorf("error = %v", err)
	}
	l = newTestLive(t, Options{}, closedSound{})
	for range 2 {
		if _, err := l.Reach(t.Context(), 1); err == nil {
			t.Error("a clip that cannot be read gave no error")
		}
	}
}

// A held signal gives nothing until it is let go.
type held struct {
	entered, leave chan struct{}
	left           atomic.Bool
}

func (h *held) rewind() error { return nil }

func (h *held) read([]float32) (int, error) {
	close(h.entered)
	<-h.leave
	h.left.Store(true)
	return 0, io.EOF
}

// TestArrivalsClose: what is arriving is closed though a read of it never returns; what is a file
// is closed when nobody reads it any more.
func TestArrivalsClose(t *testing.T) {
	for _, once := range []bool{true, false} {
		src, left := &held{entered: make(chan struct{}), leave: make(chan struct{})}, false
		c := clipOf("x", src)
		c.live, c.closers = once, []func() error{func() error { left = src.left.Load(); return nil }}
		c.Arrivals(t.Context(), 0)
		<-src.entered
		if !once {
			go close(src.leave)
		}
		if err := c.Close(); err != nil || left == once {
			t.Errorf("once %t: closed when the read had returned: %t, %v", once, left, err)
		}
		if once {
			close(src.leave)
		}
	}
}
