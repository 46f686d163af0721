package decoder

import (
	"math"
	mathbits "math/bits"
	"slices"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// Sampling configures how a token is chosen, and keys the noise of the choice. The zero
// value is greedy.
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

	// At a temperature above 0, TopK limits the choice to the likeliest TopK tokens, and
	// TopP then to the likeliest of these that together have that share of their
	// probability. The lowest id wins a tie. 0 turns either off. Log-probabilities are of
	// all tokens in any case.
	//
	// Source: transformers 5.23, TopKLogitsWarper (which keeps all of a tie) and
	// TopPLogitsWarper.
	TopK int
	TopP float32

	Seed    uint64
	Audio   uint64 // hash of the samples
	Window  int    // first frame of the window
	Attempt int    // which temperature of the fallback
	Sample  int    // which of best-of
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

// A chooser picks the token of one position.
type chooser struct {
	Sampling
	key   uint64
	ranks []uint64 // of the tokens that are not forbidden, sorted, if TopK or TopP is on
}

// gumbelBound bounds gumbel(bits) from above without a logarithm, so that the
// noise is computed only for the few tokens it could lift to the top:
//
//	v ≥ 2^-(z+1), with z the leading zeros of bits
//	-log(-log(1-v)) ≤ -log(v) ≤ (z+1)·log 2
//
// The hundredth more is above the rounding of both sides. Adding a logit to
// either keeps their order, since rounding is monotonic, so no choice changes.
func gumbelBound(bits uint64) float32 {
	z := min(mathbits.LeadingZeros64(bits), 53) // gumbel ignores the other bits
	return float32(float32(z+1)*math.Ln2) + 0.01
}

func (s Sampling) chooser() *chooser { return &chooser{Sampling: s, key: s.key()} }

// choose returns the token for a position, given logits after the rules. The lowest id
// wins a tie. Tokens at -Inf are never chosen unless all are.
func (c *chooser) choose(logits []float32, position int) tokenizer.Token {
	if c.Temperature == 0 {
		_, i := kernel.Max(logits)
		return tokenizer.Token(i)
	}
	place, last := mix(c.key+uint64(position)), c.lastRank(logits)
	best, at := negInf, 0
	for i, l := range logits {
		if l == negInf || rank(l, i) > last {
			continue
		}
		bits := mix(place + uint64(i))
		if l/c.Temperature+gumbelBound(bits) <= best {
			continue
		}
		if v := l/c.Temperature + gumbel(bits); v > best {
			best, at = v, i
		}
	}
	return tokenizer.Token(at)
}

// rank orders tokens: a higher logit comes first, then a lower id.
func rank(logit float32, id int) uint64 {
	bits := math.Float32bits(logit + 0) // +0 turns -0 into +0
	if bits>>31 == 0 {
		bits = ^bits &^ (1 << 31) // the larger, the earlier
	}
	return uint64(bits)<<32 | uint64(id)
}

// lastRank returns the rank of the last token that TopK and TopP allow.
func (c *chooser) lastRank(logits []float32) uint64 {
	if c.TopK == 0 && c.TopP == 0 {
		return math.MaxUint64
	}
	c.ranks = c.ranks[:0]
	for i, l := range logits {
		if l > negInf {
			c.ranks = append(c.ranks, rank(l, i))
		}
	}
	if len(c.ranks) == 0 {
		return math.MaxUint64
	}
	slices.Sort(c.ranks)
	if c.TopK > 0 {
		c.ranks = c.ranks[:min(c.TopK, len(c.ranks))]
	}
	if c.TopP > 0 {
		c.ranks = c.ranks[:c.nucleus(logits)]
	}
	return c.ranks[len(c.ranks)-1]
}

// nucleus returns how many tokens of c.ranks, from the first, together have the share TopP of the
// probability of all of them. Sums are in that order.
func (c *chooser) nucleus(logits []float32) int {
	top, total := logits[uint32(c.ranks[0])], 0.0
	weight := func(r uint64) float64 {
		return float64(kernel.Exp((logits[uint32(r)] - top) / c.Temperature))
	}
	for _, r := range c.ranks {
		total += weight(r)
	}
	want, sum := total*float64(c.TopP), 0.0
	for n, r := range c.ranks {
		if sum += weight(r); sum >= want {
			return n + 1
		}
	}
	return len(c.ranks)
}

// Uniform returns a number in [0, 1) that is a pure function of the key, n and which,
// independent of the noise of choices. Speculative sampling by rejection needs it.
func (s Sampling) Uniform(n, which int) float64 {
	const separate = 0x5bd1e995_9e3779b9 // makes it independent of the noise of a position
	bits := mix(mix(mix(s.key()^separate)+uint64(n)) + uint64(which))
	return float64(bits>>11) / (1 << 53)
}

// probs appends to dst the probability with which choose would pick each token at a
// temperature.
func (c *chooser) probs(dst, logits []float32, temperature float32) []float32 {
	from := len(dst)
	dst = append(dst, logits...)
	p := dst[from:]
	top, best := kernel.Max(logits)
	if temperature == 0 || top == negInf {
		clear(p)
		if top > negInf {
			p[best] = 1
		}
		return dst
	}
	at := *c
	at.Temperature = temperature
	last := at.lastRank(logits)
	c.ranks = at.ranks // its memory
	for i, l := range logits {
		if l == negInf || rank(l, i) > last {
			p[i] = negInf
		} else {
			p[i] = l / temperature
		}
	}
	kernel.Softmax(p)
	return dst
}
