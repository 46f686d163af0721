package assistant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// simulate plays rounds with random acceptance and returns tokens, rounds and the time in
// target steps.
func simulate(rng *rand.Rand, p Theory, n, rounds int) (tokens int, steps float64) {
	for range rounds {
		for i := 0; ; i++ {
			tokens++ // an accepted draft, or the decoder's own token at the end
			if i == n || rng.Float64() >= p.Alpha {
				break
			}
		}
		steps += p.Cost*float64(n) + p.Verify(n+1)
	}
	return tokens, steps
}

// TestTheorySimulated compares the formulas with simulated rounds: within 1 %, about four
// standard errors of 200,000 rounds.
func TestTheorySimulated(t *testing.T) {
	const rounds, tol = 200_000, 0.01
	rng := rand.New(rand.NewPCG(1, 2))
	for _, alpha := range []float64{0, 0.3, 0.8, 0.9, 0.98, 1} {
		for _, n := range []int{0, 1, 3, 8} {
			p := Theory{Alpha: alpha, Cost: 0.07, Verify: func(m int) float64 { return 1 + 0.05*float64(m-1) }}
			tokens, steps := simulate(rng, p, n, rounds)
			if got, want := float64(tokens)/rounds, Expected(alpha, n); !(math.Abs(got/want-1) <= tol) {
				t.Errorf("α=%v, %d drafts: %.4f tokens a round, theory %.4f", alpha, n, got, want)
			}
			if got, want := float64(tokens)/steps, p.Speedup(n); !(math.Abs(got/want-1) <= tol) {
				t.Errorf("α=%v, %d drafts: speed-up %.4f, theory %.4f", alpha, n, got, want)
			}
		}
	}
}

func ExampleTheory() {
	p := Theory{Alpha: 0.8, Cost: 0.05, Operations: 0.06}
	const n = 8
	fmt.Printf("drafts of %d: %.2f tokens a round, %.2f times as fast, %.2f times the operations\n",
		n, Expected(p.Alpha, n), p.Speedup(n), p.OperationsRatio(n))
	// Output: drafts of 8: 4.33 tokens a round, 3.09 times as fast, 2.19 times the operations
}
