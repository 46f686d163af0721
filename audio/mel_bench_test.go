package audio

import "testing"

func BenchmarkLogMel30s(b *testing.B) {
	pcm := testSignal("noise", 30*SampleRate)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := LogMel(pcm, 80); err != nil {
			b.Fatal(err)
		}
	}
}
