package audio

import (
	"math"
	"slices"
	"testing"
)

// TestFeed: however sound is cut into pieces, it is what a clip gives, to the bit.
func TestFeed(t *testing.T) {
	for _, rate := range []int{8000, 16000, 24000, 44100, 48000} {
		pcm := make([]float32, rate/3+7)
		for i := range pcm {
			pcm[i] = float32(math.Sin(float64(i*i) / 50000))
		}
		want := make([]float32, len(pcm)*3)
		whole := &memory{pcm: pcm}
		var src mono = whole
		if rate != SampleRate {
			src = newResampler(whole, rate)
		}
		n := 0
		for {
			m, err := src.read(want[n:])
			if n += m; err != nil {
				break
			}
		}
		for _, size := range []int{1, 7, 480, 100000} {
			a, err := NewFeed(rate)
			if err != nil {
				t.Fatal(err)
			}
			var got []float32
			for piece := range slices.Chunk(pcm, size) {
				got = append(got, a.Add(piece)...)
			}
			if early := len(got); early < n*9/10 {
				t.Errorf("%d Hz in pieces of %d: %d of %d samples before the end", rate, size, early, n)
			}
			got = append(got, a.End()...)
			if !slices.Equal(got, want[:n]) || n == 0 {
				t.Errorf("%d Hz in pieces of %d: %d samples, want %d, or they differ", rate, size, len(got), n)
			}
		}
	}
	for _, rate := range []int{-1, 0, 1, 1 << 30} {
		if _, err := NewFeed(rate); err == nil {
			t.Errorf("a rate of %d is accepted", rate)
		}
	}
}
