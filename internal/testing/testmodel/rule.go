package testmodel

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// A stream is a sequence of draws, addressed by index.
type stream uint64

// newStream hashes the seed and a name. tools/reference/rule.py: Stream.
func newStream(seed int, name string) stream {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", seed, name)
	return stream(h.Sum64())
}

// bits returns draw i: splitmix64's output function (Steele, Lea & Flood,
// OOPSLA 2014) of a counter.
func (s stream) bits(i int) uint64 {
	z := uint64(s) + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns draw i as a multiple of 2⁻²³ in [-1, 1).
func (s stream) uniform(i int) float64 {
	return float64(int64(s.bits(i)>>40)-1<<23) / (1 << 23)
}

// scaled returns how a weight follows from a draw x: offset + scale·x.
//
//	norms       gain 1 + x/4, so that they stay norms
//	last norm   gain 2x: without signs a token's own embedding would win the
//	            tied head at every position, and the text would stand still
//	biases      x/8
//	positions   x/2 in the encoder, x in the decoder
//	matrices    x·2^(1-k), 4^k the first power not below the fan-in: a product of
//	            unit inputs is about a unit; twice that for queries, so that
//	            attention looks at few places
//
// The token embedding is 1.5·x, some rows louder (see loudness).
// All scales have few bits, so float64 holds offset + scale·x exactly.
func scaled(name string, shape []int) (offset, scale float64) {
	switch {
	case name == "decoder.layer_norm.weight":
		return 0, 2
	case strings.HasSuffix(name, "layer_norm.weight"):
		return 1, 0.25
	case strings.HasSuffix(name, ".bias"):
		return 0, 0.125
	case name == "encoder.embed_positions.weight":
		return 0, 0.5
	case name == "decoder.embed_positions.weight":
		return 0, 1
	case name == "decoder.embed_tokens.weight":
		return 0, 1.5
	}
	fan := 1
	for _, d := range shape[1:] {
		fan *= d
	}
	scale = 2
	for n := 1; n < fan; n *= 4 {
		scale /= 2
	}
	if strings.HasSuffix(name, "q_proj.weight") {
		scale *= 2
	}
	return 0, scale
}

// weight returns a whole tensor as float32, rounded once.
func (s Spec) weight(name string, shape []int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	w := make([]float32, n)
	offset, scale := scaled(name, shape)
	draw := newStream(s.Seed, name)
	for i := range w {
		w[i] = float32(offset + scale*draw.uniform(i))
	}
	if name != "decoder.embed_tokens.weight" {
		return w
	}
	for i := range w {
		w[i] = float32(s.loudness(i/shape[1]) * scale * draw.uniform(i))
	}
	return w
}

// loudness returns what the embedding of a token is multiplied by. End-of-text
// at 2.5 ends one text in about twenty tokens; timestamps an eighth louder come
// up within texts; no-speech, the second before them, sometimes has a
// probability that a gate notices.
func (s Spec) loudness(token int) float64 {
	switch {
	case token == s.EndOfText:
		return 2.5
	case token == s.FirstTimestamp-2:
		return 3
	case token >= s.FirstTimestamp:
		return 1.125
	}
	return 1
}

// Mel returns features for one window, [bins][frames], in about the range of
// real log-mel, -1 … 1.5: blocks of 8 bins by 16 frames with noise on them.
func (s Spec) Mel() []float32 {
	d := s.Dims()
	bins, frames := d.MelBins, d.WindowFrames()
	coarse, fine := newStream(s.Seed, "mel/coarse"), newStream(s.Seed, "mel/fine")
	across := (frames + 15) / 16
	mel := make([]float32, bins*frames)
	for i := range mel {
		bin, frame := i/frames, i%frames
		mel[i] = float32(0.25 + 0.75*coarse.uniform(bin/8*across+frame/16) + 0.5*fine.uniform(i))
	}
	return mel
}

// Waveform returns one window of sound at 16 kHz: quarters of a second of
// silence, of triangular chirps, or of noise. It is made of 16-bit integers, so
// that every language makes the same one.
func (s Spec) Waveform() []float32 {
	const segment = 4000
	pcm := make([]float32, s.Dims().WindowFrames()*160)
	kinds, noise := newStream(s.Seed, "wave/kinds"), newStream(s.Seed, "wave/noise")
	for i := range pcm {
		h, at := kinds.bits(i/segment), int64(i%segment)
		amp := int64(2000 + h>>8&0x1fff)
		step, slope := int64(h>>24&0xfffff)*512, (int64(h>>44&0xff)-128)*512
		var v int64
		switch h & 3 {
		case 1, 2:
			phase := int64(uint32(step*at+slope*(at*(at-1)/2)) >> 16)
			v = max(phase-32768, 32768-phase)*2 - 32768
		case 3:
			v = int64(int16(noise.bits(i) >> 48))
		}
		pcm[i] = float32(v*amp>>15) / 32768
	}
	return pcm
}
