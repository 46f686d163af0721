package audio

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// addAll adds pcm in pieces of at most step samples, from another goroutine.
func addAll(t testing.TB, l *Live, pcm []float32, step int) {
	t.Helper()
	go func() {
		for piece := range slices.Chunk(pcm, step) {
			if err := l.Add(context.Background(), piece); err != nil {
				t.Error(err)
			}
		}
		l.End()
	}()
}

func newTestLive(t testing.TB, o Options) *Live {
	t.Helper()
	l, err := NewLive(7, o)
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
		l := newTestLive(t, o)
		addAll(t, l, pcm, rapid.IntRange(1, 3000).Draw(rt, "step"))
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
		l := newTestLive(t, Options{Window: window, Pad: PadMel})
		addAll(t, l, pcm, step)
		for _, from := range []int{0, 10, 60, 130, 100, 200, 330} {
			got, err := l.Window(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			// The frames of the window see 40 samples behind its end.
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
		if _, err := l.Window(t.Context(), 200); err == nil || !strings.Contains(err.Error(), "forgotten") {
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
	l := newTestLive(t, Options{Window: 50})
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Window(soon, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("window without sound: error %v", err)
	}
	if n, err := l.Reach(soon, 1); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Reach without sound: %d, %v", n, err)
	}
	if l.Frames() != Unknown {
		t.Errorf("%d frames before the end, want Unknown", l.Frames())
	}
	if err := l.Add(t.Context(), testSignal("noise", 3*HopLength)); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Reach(t.Context(), 2); n != 3 || err != nil {
		t.Errorf("Reach = %d, %v, want 3", n, err)
	}
	l.End()
	if n, err := l.Reach(t.Context(), 200); n != 3 || err != nil {
		t.Errorf("Reach at the end = %d, %v, want 3", n, err)
	}
	if err := l.Add(t.Context(), make([]float32, 1)); err == nil {
		t.Error("sound was added behind the end")
	}
}

// TestLiveHoldsBack wants Add to wait for whoever reads, in bounded memory.
func TestLiveHoldsBack(t *testing.T) {
	l := newTestLive(t, Options{Bins: 1, Window: 3000})
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	minutes := make([]float32, 6*60*SampleRate)
	go func() { done <- l.Add(soon, minutes) }()
	if n, _ := l.Reach(t.Context(), ahead); n != ahead {
		t.Fatalf("%d frames, want %d", n, ahead)
	}
	select {
	case err := <-done:
		t.Fatalf("Add did not wait: %v", err)
	default:
	}
	for from := 0; from < 12000; from += 3000 {
		if _, err := l.Window(t.Context(), from); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Errorf("Add = %v after windows were read", err)
	}
}

func TestLiveRefusesNaN(t *testing.T) {
	l := newTestLive(t, Options{})
	err := l.Add(t.Context(), []float32{0, float32(math.NaN())})
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "sample 1") {
		t.Errorf("error = %v", err)
	}
}
