package audio

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestParts wants the samples of random parts, twice, and every one of them mapped
// back to where it came from.
func TestParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pcm := make([]float32, rapid.IntRange(0, 30000).Draw(rt, "samples"))
		for i := range pcm {
			pcm[i] = float32(i) / (1 << 15)
		}
		var parts []Part
		var want []float32
		for at := 0; ; {
			start := at + rapid.IntRange(0, 9000).Draw(rt, "gap")
			end := start + rapid.IntRange(1, 9000).Draw(rt, "length")
			if end > len(pcm) {
				break
			}
			parts = append(parts, Part{int64(start), int64(end)})
			want = append(want, pcm[start:end]...)
			at = end
		}
		c := FromSamples("x", pcm).Parts(parts)
		for range 2 {
			got, err := readAll(t, c)
			if err != nil || !slices.Equal(got, want) {
				rt.Fatalf("%d samples, %v; want %d", len(got), err, len(want))
			}
			for i, v := range got {
				if at := Original(parts, int64(i), false); at != int64(v*(1<<15)) {
					rt.Fatalf("sample %d is from %v, Original says %d", i, v, at)
				}
			}
			if err := c.Rewind(); err != nil {
				rt.Fatal(err)
			}
		}
		var n int64
		for _, p := range parts {
			if n += p.End - p.Start; Original(parts, n, true) != p.End {
				rt.Fatalf("the end at %d maps to %d, want %d", n, Original(parts, n, true), p.End)
			}
		}
	})
}
