package assistant

import (
	"math"
	"sort"
)

// Expected returns the mean number of tokens a round yields when each of n
// drafted tokens is accepted with probability alpha, independently:
//
//	E = (1 - α^(n+1))/(1 - α) = 1 + α + … + αⁿ
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, equation 1.
func Expected(alpha float64, n int) float64 {
	if alpha >= 1 {
		return float64(n + 1)
	}
	return -math.Expm1(float64(n+1)*math.Log(alpha)) / (1 - alpha)
}

// A Theory is the parameters of the formulas.
type Theory struct {
	Alpha float64 // chance that a drafted token is accepted, in [0, 1]
	Cost  float64 // of a draft step, in steps of the target: c

	// Verify is the cost of a verify pass of m rows, in steps of the target; nil means
	// one step whatever m, as if only reading the weights took time.
	Verify func(m int) float64

	// Operations is the arithmetic of a draft token over that of a target token: ĉ.
	Operations float64
}

// Speedup returns the expected speed of drafts of n tokens over plain decoding:
//
//	E/(c·n + V(n+1))
//
// Source: Leviathan et al. 2023, theorem 3.8, where V = 1.
func (p Theory) Speedup(n int) float64 {
	v := 1.0
	if p.Verify != nil {
		v = p.Verify(n + 1)
	}
	return Expected(p.Alpha, n) / (p.Cost*float64(n) + v)
}

// OperationsRatio returns the expected arithmetic of drafts of n tokens over that of
// plain decoding: (ĉ·n + n + 1)/E. It is at least one: assistance saves time, not
// arithmetic.
//
// Source: Leviathan et al. 2023, theorem 3.11.
func (p Theory) OperationsRatio(n int) float64 {
	return (p.Operations*float64(n) + float64(n) + 1) / Expected(p.Alpha, n)
}

// BreakEven returns the lowest chance of acceptance, in whole hundredths, at which drafts of n
// tokens pay; 1 if they never do. Preparing for them takes a share of the time of plain decoding.
func (p Theory) BreakEven(n int, preparing float64) float64 {
	const rounding = 1e-9
	return float64(sort.Search(100, func(percent int) bool {
		p.Alpha = float64(percent) / 100
		return preparing+1/p.Speedup(n) < 1-rounding
	})) / 100
}
