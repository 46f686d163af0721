package audio

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mjibson/go-dsp/fft"
	"pgregory.net/rapid"
)

func newTestSpectrogram(t testing.TB, pcm []float32, o Options) *Spectrogram {
	t.Helper()
	s, err := NewSpectrogram(t.Context(), FromSamples("test", pcm), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// padded returns pcm with silence after it, as openai adds; up to frame 1000.
func padded(pcm []float32) []float32 {
	return append(slices.Clone(pcm), make([]float32, 1000*HopLength-len(pcm))...)
}

// TestWindowsAreSlices asks for windows in any order and wants the bits of the
// whole spectrogram, computed at once.
func TestWindowsAreSlices(t *testing.T) {
	const bins, window = 80, 50
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 5*SampleRate).Draw(rt, "samples")
		pad := Pad(rapid.IntRange(0, 1).Draw(rt, "pad"))
		if pad == PadAudio {
			n = max(n, window*HopLength+1) // shorter clips are reflected; goldens have them
		}
		pcm := testSignal("bursts", n)
		whole, err := LogMel(padded(pcm), bins)
		if err != nil {
			rt.Fatal(err)
		}
		s := newTestSpectrogram(t, pcm, Options{Bins: bins, Window: window, Pad: pad})
		s.head = s.head[:min(len(s.head), bins*rapid.IntRange(0, 600).Draw(rt, "kept"))]
		for range rapid.IntRange(1, 6).Draw(rt, "windows") {
			start := rapid.IntRange(0, 600).Draw(rt, "start")
			mel, err := s.Window(t.Context(), start)
			if err != nil {
				rt.Fatal(err)
			}
			for i, got := range mel.Data {
				bin, frame := i/window, start+i%window
				want := whole.Data[bin*whole.Frames+frame]
				if pad == PadMel && frame >= s.Frames() {
					want = 0
				}
				if math.Float32bits(got) != math.Float32bits(want) {
					rt.Fatalf("window at %d, frame %d, bin %d: got %v, want %v", start, frame, bin, got, want)
				}
			}
		}
	})
}

// TestFirstPass checks that skipping quiet frames does not change the maximum.
func TestFirstPass(t *testing.T) {
	pcm := testSignal("bursts", headFrames*HopLength+20*SampleRate)
	for i := range pcm[:headFrames*HopLength] {
		pcm[i] /= 1 << 14 // the loudest frames come after those that are kept
	}
	s := newTestSpectrogram(t, pcm, Options{})
	top := float32(logFloor)
	row := make([]float32, 80)
	var x frameSamples
	skipped, frames := 0, len(pcm)/HopLength+2
	for f := headFrames - 10; f < frames; f++ {
		x.gather(int64(f), pcm, 0, int64(len(pcm)))
		if f > headFrames+200 && s.an.below(&x, math.Pow(10, float64(top))) {
			skipped++
		}
		top = max(top, s.an.frame(row, &x))
	}
	if s.top != top {
		t.Errorf("maximum = %v, want %v", s.top, top)
	}
	if skipped < (frames-headFrames)/3 {
		t.Errorf("only %d of %d frames skipped, half of which are 48 dB below the loudest", skipped, frames-headFrames)
	}
	if len(s.head) != headFrames*80 {
		t.Errorf("%d frames kept, want %d", len(s.head)/80, headFrames)
	}
}

// TestTransform compares a frame with go-dsp's transform, which has another
// algorithm (Bluestein over 1024 points).
func TestTransform(t *testing.T) {
	a, err := newAnalyzer(80)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"noise", "chirp", "click"} {
		pcm := testSignal(name, 4000)
		for frame := range int64(20) {
			var x frameSamples
			x.gather(frame, pcm, 0, 4000)
			a.frame(make([]float32, 80), &x)
			for k, want := range fft.FFTReal(a.x)[:spectrum] {
				d := a.coeff[k] - want
				// Both err by some ε·log2(1024)·Σ|x|, at most 200·2e-15.
				if !(math.Hypot(real(d), imag(d)) <= 1e-11) {
					t.Fatalf("%s, frame %d, frequency %d: got %v, go-dsp %v", name, frame, k, a.coeff[k], want)
				}
			}
		}
	}
}

func TestHann(t *testing.T) {
	a, err := newAnalyzer(80)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range a.hann { // torch.hann_window: periodic, so 1 in the middle
		want := math.Pow(math.Sin(math.Pi*float64(i)/WindowSize), 2)
		if !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("hann[%d] = %v, want %v", i, got, want)
		}
	}
	if a.hann[0] != 0 {
		t.Errorf("hann[0] = %v, but reflect relies on 0", a.hann[0])
	}
}

func TestLog10(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-10, 1e30).Draw(t, "x")
		got, want := log10(x), math.Log10(x)
		if !(math.Abs(got-want) <= 1e-12) {
			t.Fatalf("log10(%v) = %v, want %v", x, got, want)
		}
	})
	for _, x := range []float64{1e-10, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 0), 1, math.Nextafter(1, 2), 2, 1e10} {
		if got, want := log10(x), math.Log10(x); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("log10(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestMelBits holds the bits of the whole front end. Other Go versions and
// instruction sets of amd64 must not change them; arm64 may, inside gonum, whose
// products a compiler can fuse there.
func TestMelBits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("%s may fuse products inside gonum", runtime.GOARCH)
	}
	for _, tt := range []struct {
		bins int
		want uint64
	}{{80, 0xc36736122b59c479}, {128, 0x1c5d3b34f2998a2d}} {
		h := new(sampleHash)
		for i, name := range []string{"noise", "chirp", "bursts"} {
			mel, err := LogMel(testSignal(name, 2*SampleRate), tt.bins)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.add(mel.Data, name, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.sum(0); got != tt.want {
			t.Errorf("%d bins: hash %#x, want %#x", tt.bins, got, tt.want)
		}
	}
}

func TestSpectrogramOfNothing(t *testing.T) {
	for _, pad := range []Pad{PadAudio, PadMel} {
		s := newTestSpectrogram(t, nil, Options{Window: 10, Pad: pad})
		if s.Frames() != 0 || s.in.n != 0 || s.Seconds() != 0 {
			t.Errorf("%d frames, %d samples, %v s, want none", s.Frames(), s.in.n, s.Seconds())
		}
		want := float32(-1.5) // (-10 + 4) / 4
		if pad == PadMel {
			want = 0
		}
		mel, err := s.Window(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range mel.Data {
			if v != want {
				t.Fatalf("pad %d: cell = %v, want %v", pad, v, want)
			}
		}
	}
}

func TestHash(t *testing.T) {
	pcm := testSignal("noise", 100000)
	hash := func(pcm []float32) uint64 { return newTestSpectrogram(t, pcm, Options{Window: 10}).Hash() }
	h := hash(pcm)
	if again := hash(slices.Clone(pcm)); again != h {
		t.Errorf("hash of equal samples: %#x, then %#x", h, again)
	}
	changed := slices.Clone(pcm)
	changed[99999] = -changed[99999]
	for name, other := range map[string][]float32{"shorter": pcm[:99999], "changed": changed, "empty": nil} {
		if hash(other) == h {
			t.Errorf("%s samples have the same hash", name)
		}
	}
}

func TestSpectrogramErrors(t *testing.T) {
	nan := testSignal("noise", 20000)
	nan[12345] = float32(math.NaN())
	ctx := t.Context()
	tests := []struct {
		name string
		pcm  []float32
		o    Options
		want string
	}{
		{"not a number", nan, Options{}, "sample 12345"},
		{"bins", nil, Options{Bins: 999}, "Bins: got 999"},
		{"window", nil, Options{Window: -1}, "Window: got -1"},
		{"pad", nil, Options{Pad: 7}, "Pad: got 7"},
	}
	for _, tt := range tests {
		_, err := NewSpectrogram(ctx, FromSamples("x.wav", tt.pcm), tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	if _, err := LogMel(make([]float32, 200), 80); !errors.Is(err, errTooShort) {
		t.Errorf("LogMel of 200 samples: error %v, want errTooShort", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := NewSpectrogram(gone, FromSamples("x", nan), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}
