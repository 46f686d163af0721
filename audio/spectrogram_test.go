package audio

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"pgregory.net/rapid"

	"verity/internal/frontend"
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
		whole := logMel(padded(pcm), bins)
		s := newTestSpectrogram(t, pcm, Options{Bins: bins, Window: window, Pad: pad})
		s.head = s.head.cut(0, min(s.head.frames, rapid.IntRange(0, 600).Draw(rt, "kept")))
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

// TestFirstPass checks that the maximum is that of all frames, also of those that are not
// kept.
func TestFirstPass(t *testing.T) {
	pcm := testSignal("bursts", headFrames*HopLength+20*SampleRate)
	for i := range pcm[:headFrames*HopLength] {
		pcm[i] /= 1 << 14 // the loudest frames come after those that are kept
	}
	s := newTestSpectrogram(t, pcm, Options{})
	top := float32(logFloor)
	frames := len(pcm)/HopLength + 2
	pcm = append(pcm, make([]float32, 2*windowSize)...)
	for f := headFrames - 10; f < frames; f += blockFrames {
		_, tops := s.an.block(pcm[frameStart(int64(f)):], min(blockFrames, frames-f))
		top = max(top, slices.Max(tops))
	}
	if s.top != top {
		t.Errorf("maximum = %v, want %v", s.top, top)
	}
	if s.head.frames != headFrames {
		t.Errorf("%d frames kept, want %d", s.head.frames, headFrames)
	}
}

// frameAt returns what frame t sees, with zeros on both sides of the signal.
func frameAt(t int, pcm []float32) []float32 {
	x, first := make([]float32, windowSize), int(frameStart(int64(t)))
	copy(x[max(0, -first):], pcm[max(0, first):min(len(pcm), first+windowSize)])
	return x
}

// frameOf returns the logarithms of one frame alone, and the largest.
func frameOf(a *analyzer, x []float32) (row []float32, top float32) {
	logs, tops := a.block(x, 1)
	row = make([]float32, logs.bins)
	logs.frame(row, 0)
	return row, tops[0]
}

// TestTransform compares powers with gonum's transform in float64, within the bound that analyzer derives.
func TestTransform(t *testing.T) {
	const u = 0x1p-24
	a := newAnalyzer(80)
	gonum := fourier.NewFFT(windowSize)
	for _, name := range []string{"noise", "chirp", "click"} {
		pcm := testSignal(name, 4000)
		for frame := range 20 {
			x := frameAt(frame, pcm)
			frameOf(a, x)
			wide, sum := make([]float64, windowSize), 0.0
			for i, h := range hann() {
				wide[i] = h * float64(x[i])
				sum += math.Abs(wide[i])
			}
			for k, want := range gonum.Coefficients(nil, wide)[1 : frontend.Spectrum-1] {
				d := math.Abs(math.Sqrt(float64(a.power[k*blockFrames])) - cmplx.Abs(want))
				if !(d <= math.Sqrt2*(quarter+3)*u*sum+2*u*cmplx.Abs(want)) {
					t.Fatalf("%s, frame %d, frequency %d: off by %v", name, frame, k+1, d)
				}
			}
		}
	}
}

// TestBlocks: a frame has the same bits alone and in any place of a block; samples whose
// squares overflow are as good as others.
func TestBlocks(t *testing.T) {
	for _, bins := range []int{1, 80, 128, 201} {
		a := newAnalyzer(bins)
		pcm := testSignal("chirp", (blockFrames+2)*HopLength)
		for i := range pcm[30*HopLength:][:windowSize] {
			pcm[30*HopLength+i] *= 1 << 90
		}
		whole := pcm[HopLength*3/2:]
		block, tops := a.block(whole, blockFrames-3)
		other := newAnalyzer(bins)
		row := make([]float32, bins)
		for f := 0; f < len(tops); f += 3 {
			block.frame(row, f)
			if alone, most := frameOf(other, whole[f*HopLength:]); !slices.Equal(row, alone) || tops[f] != most {
				t.Fatalf("%d bins: frame %d is another one in a block", bins, f)
			}
		}
	}
}

// TestMelBits holds the bits of the whole front end, which no instruction set and no
// version of Go may change.
func TestMelBits(t *testing.T) {
	for _, tt := range []struct {
		bins int
		want uint64
	}{{80, 0x54333da3bab714cd}, {128, 0xd315535ae5219bc3}} {
		h := new(sampleHash)
		for i, name := range []string{"noise", "chirp", "bursts"} {
			mel := logMel(testSignal(name, 2*SampleRate), tt.bins)
			if err := h.add(mel.Data, name, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.sum(0); got != tt.want {
			t.Errorf("%d bins: hash %#x, want %#x", tt.bins, got, tt.want)
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
		_, err := NewSpectrogram(ctx, clipOf("x.wav", &memory{pcm: tt.pcm}), tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := NewSpectrogram(gone, FromSamples("x", nan), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestSamples wants the samples of any part of the last window, of a file and of sound that
// arrives, in whatever order windows are asked for, and the same windows as of frames that were kept.
func TestSamples(t *testing.T) {
	const window = 50
	rapid.Check(t, func(rt *rapid.T) {
		pcm := testSignal("bursts", rapid.IntRange(0, 60000).Draw(rt, "samples"))
		o := Options{Window: window}
		s, kept, l := newTestSpectrogram(t, pcm, o), newTestSpectrogram(t, pcm, o), newTestLive(t, o, &memory{pcm: pcm})
		s.head = strip{bins: s.opt.Bins} // as behind the first minutes
		for frame := 0; frame <= s.Frames(); frame += rapid.IntRange(1, window).Draw(rt, "step") {
			got, err := s.Window(t.Context(), frame)
			if err != nil {
				rt.Fatal(err)
			}
			want, err := kept.Window(t.Context(), frame)
			if err != nil {
				rt.Fatal(err)
			}
			if _, err := l.Window(t.Context(), frame); err != nil {
				rt.Fatal(err)
			}
			if !slices.Equal(got.Data, want.Data) {
				rt.Fatalf("the window at %d differs", frame)
			}
			from := frame + rapid.IntRange(0, window).Draw(rt, "from")
			n := rapid.IntRange(0, frame+window-from).Draw(rt, "n")
			part := pcm[min(from*HopLength, len(pcm)):min((from+n)*HopLength, len(pcm))]
			for name, of := range map[string]interface {
				Samples(context.Context, int, int) ([]float32, error)
			}{"file": s, "live": l} {
				if got, err := of.Samples(t.Context(), from, n); err != nil || !slices.Equal(got, part) {
					rt.Fatalf("%s: %d frames from %d: %d samples, %v; want %d", name, n, from, len(got), err, len(part))
				}
			}
		}
	})
}
