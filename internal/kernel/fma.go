package kernel

import "math"

// FMA returns a·b+c rounded once, as a CPU's float32 fused multiply-add does.
func FMA(a, b, c float32) float32 { return fma(a, b, c) }

// fma returns a·b+c rounded once.
//
// The float64 product of two float32 is exact (48 of 53 bits), so s is the exact
// value v rounded to float64, and rounding s to float32 rounds v twice. That can
// only differ from rounding once if s sits on a boundary between two float32
// results and v does not: every boundary is itself a float64, rounding is
// monotonic, so s is never beyond a boundary that v is not beyond. The
// boundaries are the midpoints of neighbouring float32. Among normal numbers a
// midpoint has 1 followed by zeros in the 29 bits that float32 drops, which
// holds for the one before overflow too; below 2⁻¹²⁶ it lies elsewhere. Both
// cases, rare, are left to fmaSlow. Zero is exact: the float64 exponent reaches
// below any float32 product. Infinity and NaN are what they should be.
//
// A compiler may fuse p+c into one instruction. It rounds the same exact v.
func fma(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	if mayRoundTwice(math.Float64bits(s)) {
		return fmaSlow(p, float64(c))
	}
	return float32(s)
}

// mayRoundTwice reports whether the float64 with bits u may be a boundary where
// float32 rounding turns. 897 is the biased exponent of 2⁻¹²⁶; zero wraps.
func mayRoundTwice(u uint64) bool {
	return u&(1<<29-1) == 1<<28 || u<<1-1 < 897<<53-1
}

// fmaSlow returns p+d rounded once to float32, by way of float64 rounded to odd
// (Boldo & Melquiond, IEEE TC 57(4), 2008): the odd neighbour of an inexact sum
// is never a midpoint of float32, and lies on the right side of each.
func fmaSlow(p, d float64) float32 {
	s := p + d
	// TwoSum: e is the exact error of s.
	t := s - p
	e := (p - (s - t)) + (d - t)
	if e != 0 && !math.IsInf(s, 0) {
		if u := math.Float64bits(s); u&1 == 0 {
			// s was rounded to even: step to the odd neighbour towards the error.
			if (e > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	return float32(s)
}
