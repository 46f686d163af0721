package decoder

import (
	"verity/internal/kernel"
	"verity/tokenizer"
)

// Sampling says how a token is chosen and where the noise of the choice comes
// from. The zero value is greedy.
//
// At Temperature T > 0 the choice is argmax of logit/T + Gumbel noise, which
// draws exactly from softmax(logits/T). The noise is a pure function of the
// other fields, the position and the token, so it does not depend on how
// decoding got there: assisted sampling equals plain sampling bit for bit.
//
// Source: the Gumbel-max trick; drafter-invariant speculation of Daliri et al.
// 2024, arXiv:2408.07978.
type Sampling struct {
	Temperature float32
	Seed        uint64
	Audio       uint64 // hash of the samples
	Window      int    // first frame of the window
	Attempt     int    // which temperature of the fallback ladder
	Sample      int    // which of best-of
}

// key mixes the fields that stay the same in a window.
func (s Sampling) key() uint64 {
	k := uint64(0)
	for _, v := range [...]uint64{s.Seed, s.Audio, uint64(s.Window), uint64(s.Attempt), uint64(s.Sample)} {
		k = mix(k + v)
	}
	return k
}

// mix is the output function of SplitMix64, a bijection that passes statistical
// tests on counters. Source: Steele, Lea and Flood 2014, OOPSLA.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// gumbel returns standard Gumbel noise, -log(-log(1-v)) with v uniform in (0,1).
//
// Large noise comes from small v, where a float32 is finest; -log(1-v) would
// lose it in 1-v, so small v takes the first terms of its series, whose rest is
// below v⁶/6 < 2⁻³⁸ of v.
func gumbel(bits uint64) float32 {
	v := float32((float64(bits>>11) + 0.5) / (1 << 53))
	if v >= 1.0/64 {
		return -kernel.Log(-kernel.Log(1 - v))
	}
	s := kernel.FMA(v, 1.0/5, 1.0/4)
	s = kernel.FMA(v, s, 1.0/3)
	s = kernel.FMA(v, s, 1.0/2)
	s = kernel.FMA(v, s, 1)
	return -kernel.Log(float32(v * s))
}

// A chooser picks the token of one place.
type chooser struct {
	temperature float32
	key         uint64
}

func (s Sampling) chooser() chooser { return chooser{s.Temperature, s.key()} }

// choose returns the token for a position, given logits that the rules have
// seen. The lowest id wins a tie. Tokens at -Inf are never chosen unless all are.
func (c chooser) choose(logits []float32, position int) tokenizer.Token {
	if c.temperature == 0 {
		_, i := kernel.Max(logits)
		return tokenizer.Token(i)
	}
	place := mix(c.key + uint64(position))
	best, at := negInf, 0
	for i, l := range logits {
		if l == negInf {
			continue
		}
		if v := l/c.temperature + gumbel(mix(place+uint64(i))); v > best {
			best, at = v, i
		}
	}
	return tokenizer.Token(at)
}
