package audio

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// stepped is a source of samples in memory, in pieces of at most step.
type stepped struct {
	memory
	step int
}

func (a *stepped) read(dst []float32) (int, error) {
	return a.memory.read(dst[:min(len(dst), a.step)])
}

func resample(t testing.TB, pcm []float32, hz, step int) []float32 {
	t.Helper()
	c := clipOf("test", newResampler(&stepped{memory{pcm: pcm}, step}, hz))
	out, err := readAll(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sine(hz float64, rate, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * hz * float64(i) / float64(rate)))
	}
	return x
}

// level returns the power of x in dB relative to a full sine, without its ends,
// where the filter sees the silence outside.
func level(x []float32) float64 {
	const edge = 800
	sum := 0.0
	for _, v := range x[edge : len(x)-edge] {
		sum += float64(v) * float64(v)
	}
	return 10 * math.Log10(2*sum/float64(len(x)-2*edge))
}

// TestResamplerPassbandAndAliases sends tones through: those up to 7.4 kHz must come
// out as the same tone at 16 kHz, in phase and within 0.1 dB, those above 8 kHz must
// vanish to -90 dB.
func TestResamplerPassbandAndAliases(t *testing.T) {
	rates := []int{4000, 7350, 8000, 11025, 16001, 22050, 32000, 44100, 44101, 48000, 96000, 192000}
	for _, rate := range rates {
		pass := min(7400, 0.4625*float64(rate)) // as far below half the lower rate
		for _, hz := range []float64{50, 440, 1000, 0.4 * pass, 0.9 * pass, pass} {
			got := resample(t, sine(hz, rate, rate/2), rate, 1<<20)
			want := sine(hz, SampleRate, len(got))
			diff := make([]float32, len(got))
			for i := range got {
				diff[i] = got[i] - want[i]
			}
			if l := level(diff); !(l <= -80) { // 0.001 dB
				t.Errorf("%d Hz: tone of %.0f Hz is off by %.1f dB, want -80", rate, hz, l)
			}
			if l := level(got); !(math.Abs(l) <= 0.1) {
				t.Errorf("%d Hz: tone of %.0f Hz comes out at %.2f dB, want 0 ± 0.1", rate, hz, l)
			}
		}
		for _, hz := range []float64{8000, 8200, 8500, 9000, 12000, 15900, 20000, 0.49 * float64(rate)} {
			if hz < 8000 || hz > 0.49*float64(rate) {
				continue
			}
			if l := level(resample(t, sine(hz, rate, rate/2), rate, 1<<20)); !(l <= -90) {
				t.Errorf("%d Hz: tone of %.0f Hz comes back at %.1f dB, want -90", rate, hz, l)
			}
		}
	}
}

// TestResamplerStreams checks the length of the output and that it does not
// depend on how the input arrives.
func TestResamplerStreams(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.OneOf(
			rapid.SampledFrom([]int{8000, 11025, 22050, 44100, 48000, 96000}),
			rapid.IntRange(minRate, 200000),
		).Draw(rt, "rate")
		pcm := testSignal("noise", rapid.IntRange(0, 3000).Draw(rt, "samples"))
		once := resample(t, pcm, rate, 1<<20)
		want := (int64(len(pcm))*SampleRate + int64(rate) - 1) / int64(rate)
		if int64(len(once)) != want {
			rt.Fatalf("%d samples at %d Hz gave %d, want %d", len(pcm), rate, len(once), want)
		}
		pieces := resample(t, pcm, rate, rapid.IntRange(1, 700).Draw(rt, "step"))
		if !slices.Equal(once, pieces) {
			rt.Fatalf("output depends on the size of reads")
		}
	})
}

// TestResamplerMemory wants small tables for rates that share nothing with ours.
func TestResamplerMemory(t *testing.T) {
	for _, rate := range []int{minRate + 9, 15991, 44101, 999983, maxRate} {
		r := newResampler(&stepped{}, rate)
		if bytes := 4*len(r.rows) + 8*len(r.h.table); bytes > 2<<20 {
			t.Errorf("%d Hz: tables of %d bytes, want at most 2 MiB", rate, bytes)
		}
	}
}
