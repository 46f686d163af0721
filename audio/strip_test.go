package audio

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestStrip adds, cuts and drops frames as a plain list of them would have it.
func TestStrip(t *testing.T) {
	const bins = 3
	numbered := func(first, n int) strip { // a cut, so that it begins anywhere in a block
		s := strip{bins: bins}
		for b := range (n + 2*blockFrames) / blockFrames {
			s.blocks = append(s.blocks, make([]float32, bins*blockFrames))
			for i := range s.blocks[b] {
				s.blocks[b][i] = float32(first+b*blockFrames+i%blockFrames-first%blockFrames) + float32(i/blockFrames)/4
			}
		}
		s.frames = n + first%blockFrames
		return s.cut(first%blockFrames, s.frames)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s, first, end := strip{bins: bins}, 0, 0
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			n := rapid.IntRange(0, 3*blockFrames).Draw(rt, "frames")
			if rapid.Bool().Draw(rt, "drop") {
				n = min(n, s.frames)
				s.drop(n)
				first += n
			} else {
				s.add(numbered(end, n))
				end += n
			}
		}
		from := rapid.IntRange(first, end).Draw(rt, "from")
		to := rapid.IntRange(from, end).Draw(rt, "to")
		part := s.cut(from-first, to-first)
		if s.frames != end-first || part.frames != to-from || len(s.blocks) > s.frames/blockFrames+2 {
			rt.Fatalf("%d frames in %d blocks, cut %d, want %d and %d", s.frames, len(s.blocks), part.frames, end-first, to-from)
		}
		logs, seen := make([]float32, bins), 0
		for f := range part.frames {
			part.frame(logs, f)
			if v := float32(from + f); !slices.Equal(logs, []float32{v, v + 0.25, v + 0.5}) {
				rt.Fatalf("frame %d holds %v", from+f, logs)
			}
		}
		part.each(func(bin, frame int, logs []float32) {
			for i, v := range logs {
				if want := float32(from+frame+i) + float32(bin)/4; v != want {
					rt.Fatalf("bin %d of frame %d is %v, want %v", bin, from+frame+i, v, want)
				}
			}
			seen += len(logs)
		})
		if seen != bins*part.frames {
			rt.Fatalf("%d numbers seen of %d", seen, bins*part.frames)
		}
	})
}
