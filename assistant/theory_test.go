package assistant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// simulate plays rounds with coin flips and returns tokens, rounds and the time
// in target steps.
func simulate(rng *rand.Rand, p Plan, n, rounds int) (tokens int, steps float64) {
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

// TestPlanSimulated holds the formulas against coin flips: within 1 %, about
// four standard errors of 200,000 rounds.
func TestPlanSimulated(t *testing.T) {
	const rounds, tol = 200_000, 0.01
	rng := rand.New(rand.NewPCG(1, 2))
	for _, alpha := range []float64{0, 0.3, 0.8, 0.9, 0.98, 1} {
		for _, n := range []int{0, 1, 3, 8} {
			p := Plan{Alpha: alpha, Cost: 0.07, Verify: func(m int) float64 { return 1 + 0.05*float64(m-1) }}
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

// TestAuto lets the policy learn from simulated rounds. It must come close to
// the best constant length where drafting pays, and cost next to nothing where
// the assistant is hostile.
func TestAuto(t *testing.T) {
	tests := []struct {
		name        string
		alpha, cost float64
		least       float64 // share of the best plan's speed, or of plain decoding's
		why         string
	}{
		{"good", 0.9, 0.05, 0.95, "long drafts pay"},
		{"fair", 0.6, 0.1, 0.93, "short drafts pay"},
		{"dear", 0.8, 0.9, 0.97, "drafting costs as much as decoding"},
		{"hostile", 0, 0.3, 0.97, "nothing is ever accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Plan{Alpha: tt.alpha, Cost: tt.cost, Verify: func(m int) float64 { return 1 + 0.04*float64(m-1) }}
			_, best := p.Best(16)
			got, _ := playAuto(new(Auto), p, 4000)
			if !(got >= tt.least*best) {
				t.Errorf("speed-up %.3f, the best plan %.3f: %s", got, best, tt.why)
			}
		})
	}
}

// A probing policy drafts in every window, even for an assistant that is never
// right, and that costs little.
func TestAutoProbing(t *testing.T) {
	p := Plan{Alpha: 0, Cost: 0.3, Verify: func(m int) float64 { return 1 + 0.04*float64(m-1) }}
	speed, drafted := playAuto(&Auto{Probing: true}, p, 4000)
	if drafted < 39 || !(speed >= 0.97) {
		t.Errorf("%d of 40 windows saw a draft, speed-up %.3f, want all but the first and at least 0.97", drafted, speed)
	}
}

// playAuto decodes so many tokens, in windows of 100, and returns the speed-up
// and how many windows saw a draft.
func playAuto(a *Auto, p Plan, tokens int) (speed float64, drafted int) {
	rng := rand.New(rand.NewPCG(3, 4))
	kept, steps, window, seen := 0, 0.0, 100, false
	for kept < tokens {
		n := a.Length()
		r := Round{First: window >= 100, Drafted: n}
		if r.First {
			window, seen = 0, false
		}
		if n > 0 && !seen {
			drafted, seen = drafted+1, true
		}
		for r.Accepted < n && rng.Float64() < p.Alpha {
			r.Accepted++
		}
		r.Kept = r.Accepted + 1
		draft, verify := p.Cost*float64(n), p.Verify(n+1)
		steps += draft + verify
		noise := 0.9 + 0.2*rng.Float64() // machines are not clocks
		r.Draft = time.Duration(noise * draft * float64(time.Millisecond))
		r.Verify = time.Duration(noise * verify * float64(time.Millisecond))
		a.Observe(r)
		kept += r.Kept
		window += r.Kept
	}
	return float64(kept) / steps, drafted
}

// TestAcceptance inverts Expected.
func TestAcceptance(t *testing.T) {
	for _, alpha := range []float64{0, 0.1, 0.5, 0.8, 0.99} {
		for _, n := range []int{1, 2, 5, 16} {
			if got := Acceptance(Expected(alpha, n), float64(n)); !(math.Abs(got-alpha) < 1e-9) {
				t.Errorf("drafts of %d: α = %v from the mean at %v", n, got, alpha)
			}
		}
	}
	if got := Acceptance(3, 2); !(math.Abs(got-1) < 1e-6) {
		t.Errorf("all accepted: α = %v, want 1", got)
	}
}

// TestBytesRatio: where reading is all that costs, bytes and time are the same.
func TestBytesRatio(t *testing.T) {
	p := Plan{Alpha: 0.8, Cost: 0.15, Bytes: 0.15}
	for n := range 10 {
		if got := p.BytesRatio(n) * p.Speedup(n); !(math.Abs(got-1) < 1e-12) {
			t.Errorf("drafts of %d: bytes × speed-up = %v, want 1", n, got)
		}
	}
}

func ExamplePlan() {
	p := Plan{Alpha: 0.8, Cost: 0.05, Operations: 0.06}
	n, speedup := p.Best(16)
	fmt.Printf("drafts of %d: %.2f tokens a round, %.2f times as fast, %.2f times the operations\n",
		n, Expected(p.Alpha, n), speedup, p.OperationsRatio(n))
	// Output: drafts of 8: 4.33 tokens a round, 3.09 times as fast, 2.19 times the operations
}
