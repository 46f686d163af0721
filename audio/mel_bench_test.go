package audio

import "testing"

func BenchmarkLogMel30s(b *testing.B) {
	pcm := testSignal("noise", 30*SampleRate)
	b.ReportAllocs()
	for b.Loop() {
		logMel(pcm, 80)
	}
}

// BenchmarkWindow30s has both passes that a program makes over a clip, from samples in
// memory.
func BenchmarkWindow30s(b *testing.B) {
	pcm := testSignal("noise", 30*SampleRate)
	b.ReportAllocs()
	for b.Loop() {
		s, err := NewSpectrogram(b.Context(), FromSamples("noise", pcm), Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Window(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}
