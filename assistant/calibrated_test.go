package assistant

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// simulateRounds runs rounds of a policy. Each token is right with probability right, whatever the proposer
// states; a pass takes 1 ms and cost for each row more. It returns the tokens and milliseconds of all rounds.
func simulateRounds(p *CalibratedPolicy, stated, right, cost float64, rounds int) (tokens, ms float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := p.Policy().(*calibrated)
	c.Begin(true)
	for i := range rounds {
		draft := make([]float32, c.Length())
		for j := range draft {
			draft[j] = float32(math.Log(stated))
		}
		n := 0
		if len(draft) > 0 {
			n = c.Cut(draft)
		}
		accepted := 0
		for accepted < n && rng.Float64() < right {
			accepted++
		}
		took := 1 + cost*float64(n)
		tokens, ms = tokens+float64(accepted)+1, ms+took
		c.Observe(Round{First: i == 0, Drafted: n, Accepted: accepted, Kept: accepted + 1,
			Verify: time.Duration(took * float64(time.Millisecond))})
	}
	return tokens, ms
}

// bestSpeed returns the tokens per millisecond of the best constant length in simulateRounds, drafts of none included.
func bestSpeed(right, cost float64) float64 {
	best := 1.0
	for n := 1; n <= maxCalibratedDraft; n++ {
		best = max(best, Expected(right, n)/(1+cost*float64(n)))
	}
	return best
}

// TestCalibratedPolicy: whatever a proposer states, the policy comes near the best constant length, and
// near plain decoding where drafts cannot pay.
func TestCalibratedPolicy(t *testing.T) {
	for _, stated := range []float64{0.3, 0.6, 0.9} {
		for _, right := range []float64{0, 0.2, 0.5, 0.8, 0.95} {
			for _, cost := range []float64{0.02, 0.1, 0.5} {
				best := bestSpeed(right, cost)
				p := &CalibratedPolicy{Streams: func() int { return 1 }}
				simulateRounds(p, stated, right, cost, 300)
				tokens, ms := simulateRounds(p, stated, right, cost, 2000)
				if got := tokens / ms; !(got >= 0.94*best) {
					t.Errorf("stated %v, right %v, cost of a row %v: got %.3f tokens a pass, want nearly %.3f",
						stated, right, cost, got, best)
				}
			}
		}
	}
}

// TestCalibratedNoise: a machine that other programs slow down now and then does not mislead the policy for long. Passes
// take the times measured with AVX2.
func TestCalibratedNoise(t *testing.T) {
	const draft = 0.15 // ms
	passes := []float64{0, 1.45, 1.5, 1.52, 1.58, 1.68, 1.86, 2.4, 2.6, 2.75, 2.9, 3.1, 3.25, 3.7}
	play := func(p Policy, seed uint64) float64 {
		rng := rand.New(rand.NewPCG(seed, 7))
		tokens, ms, pace := 0.0, 0.0, 1.0
		for i := range 700 {
			if i%40 == 0 {
				pace = 1 + rng.Float64()
			}
			rights, stated := make([]float64, p.Length()), []float32{}
			for j := range rights {
				rights[j] = 0.63 + 0.3*rng.Float64()
				stated = append(stated, float32(math.Log(rights[j])))
			}
			n := len(rights)
			if c, ok := p.(DraftCutter); ok && n > 0 {
				n = c.Cut(stated)
			}
			accepted := 0
			for accepted < n && rng.Float64() < rights[accepted] {
				accepted++
			}
			took := passes[n+1] * pace * max(0.5, 1+0.1*rng.NormFloat64())
			if rng.IntN(20) == 0 {
				took *= 1 + 3*rng.Float64()
			}
			r := Round{First: i%16 == 0, Drafted: n, Accepted: accepted, Kept: accepted + 1,
				Verify: time.Duration(took * 1e6), Draft: time.Duration(draft * 1e6)}
			if rng.IntN(40) == 0 {
				r.Draft *= 200
			}
			p.Observe(r)
			tokens, ms = tokens+float64(accepted)+1, ms+passes[n+1]+draft
		}
		return tokens / ms
	}
	best := max(play(Constant(4), 1), play(Constant(5), 1))
	for seed := range uint64(12) {
		p := &CalibratedPolicy{Streams: func() int { return 1 }}
		if got := play(p.Policy(), seed) / best; !(got >= 0.88) {
			t.Errorf("seed %d: %.3f of the speed of the best constant length", seed, got)
		}
	}
}

// TestCalibratedRecovers: after a time in which drafts cost sixteen times as much, lengths that were not tried then come back.
func TestCalibratedRecovers(t *testing.T) {
	const cheap, dear = 0.05, 0.8
	for _, right := range []float64{0.5, 0.8, 0.9} {
		best := bestSpeed(right, cheap)
		p := &CalibratedPolicy{Streams: func() int { return 1 }}
		simulateRounds(p, right, right, cheap, 500)
		simulateRounds(p, right, right, dear, 1000)
		simulateRounds(p, right, right, cheap, 1500)
		tokens, ms := simulateRounds(p, right, right, cheap, 500)
		if got := tokens / ms / best; !(got >= 0.9) {
			t.Errorf("right %v: %.3f of the speed of the best length", right, got)
		}
	}
}

// TestCalibratedForced: a forced draft is made even if drafts do not pay, once.
func TestCalibratedForced(t *testing.T) {
	p := &CalibratedPolicy{Streams: func() int { return 1 }}
	simulateRounds(p, 0.5, 0, 1, 500)
	p.ForceDraft()
	c := p.Policy().(*calibrated)
	c.Begin(true)
	for range 2 {
		if n := c.Length(); n == 0 {
			t.Fatal("forced: no draft is asked for")
		}
		if n := c.Cut([]float32{-3, -3, -3}); n == 0 {
			t.Fatal("forced: nothing is drafted")
		}
	}
	c.Observe(Round{Drafted: 2, Kept: 1, Verify: 3 * time.Millisecond})
	drafted := 0
	for range 10 {
		if c.Length() > 0 {
			drafted += c.Cut([]float32{-3, -3, -3})
		}
	}
	if drafted > 2 {
		t.Errorf("after the forced draft: drafted %d tokens in 10 rounds", drafted)
	}
}

// TestCalibratedOpening: windows are not prepared once that has cost more than drafts save, except for a trial.
func TestCalibratedOpening(t *testing.T) {
	for _, tt := range []struct {
		opening time.Duration
		rounds  int // of a window
		want    int // windows prepared
	}{
		{time.Millisecond, 20, 100}, {time.Millisecond, 4, 100}, // also while no plain pass is known
		{100 * time.Millisecond, 20, 20},
	} {
		opening, want := tt.opening, tt.want
		p := &CalibratedPolicy{Streams: func() int { return 1 }}
		c := p.Policy().(*calibrated)
		opened := 0
		for range 100 { // windows
			c.Begin(false)
			for i := range tt.rounds {
				r := Round{First: i == 0, Kept: 1, Verify: time.Millisecond}
				if r.First {
					r.Verify += 80 * time.Millisecond // the prompt
				}
				if c.Length() > 0 {
					r.Drafted = c.Cut([]float32{-0.1, -0.1, -0.1})
					r.Accepted, r.Kept = r.Drafted, r.Drafted+1
					if i == 0 {
						opened++
						r.Opening, r.Draft = opening, opening
					}
				}
				c.Observe(r)
			}
		}
		if opened > want || want == 100 && opened < 100 || opened < 3 {
			t.Errorf("a window of %d rounds takes %v to prepare: prepared %d of 100, want about %d",
				tt.rounds, opening, opened, want)
		}
	}
}
