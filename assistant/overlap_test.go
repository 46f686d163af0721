package assistant

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/decoder"
	"verity/precision"
	"verity/transcript"
)

// TestOverlap compares the mean of Σ min(p, q) with its closed form where probabilities are the
// same at every place, and then what theory derives from it: the chance that rejection accepts
// a draft, and the tokens of a round. Shares must agree within five standard deviations; the
// seeds are fixed.
func TestOverlap(t *testing.T) {
	const length, sequences, drafts = 200, 150, 3
	probs := func(w [faces]float32) func([]Token) [faces]float32 {
		return func([]Token) [faces]float32 { return w }
	}
	p := [faces]float32{0.5, 0.25, 0.125, 0.125}
	for _, tt := range []struct {
		name  string
		q     [faces]float32
		tells bool
		alpha float64 // Σ min(p, q); untold, each draft x counts p(x): Σ q·p
	}{
		{"equal", p, true, 1},
		{"even", [faces]float32{0.25, 0.25, 0.25, 0.25}, true, 0.75},
		{"contrary", [faces]float32{0, 0.25, 0.25, 0.5}, true, 0.5},
		{"apart", [faces]float32{0, 0, 0, 1}, true, 0.125},
		{"sure of one", [faces]float32{1, 0, 0, 0}, false, 0.5},
		{"probs untold", [faces]float32{0.5, 0.5, 0, 0}, false, 0.375},
	} {
		run := func(wrap func(v ProbVerifier, p Proposer, seed uint64) (Verifier, *OverlapMeter)) (s transcript.Drafts) {
			for n := range uint64(sequences) {
				v := &dice{weights: probs(p)}
				d := &dice{weights: probs(tt.q), rng: rand.New(rand.NewPCG(n, 5))}
				proposer := Proposer(drafting{d})
				if tt.tells {
					proposer = teller{drafting{d}}
				}
				w, meter := wrap(v, proposer, n)
				g, err := Generate(t.Context(), w, proposer, Options{EOT: -1, Limit: length, Policy: Constant(drafts)})
				if err != nil {
					t.Fatal(err)
				}
				one := g.Stats.Drafts
				one.Compared, one.Overlap = meter.Positions, meter.Overlap
				s.Add(one)
			}
			if s.Compared != s.Accepted+s.Refused {
				t.Errorf("%s: weighed %d places, %d were judged", tt.name, s.Compared, s.Accepted+s.Refused)
			}
			return s
		}
		classic := run(func(v ProbVerifier, p Proposer, seed uint64) (Verifier, *OverlapMeter) {
			r := NewRejectionVerifier(v, p, decoder.Sampling{Temperature: 1, Seed: seed})
			return r, &r.OverlapMeter
		})
		metered := run(func(v ProbVerifier, p Proposer, _ uint64) (Verifier, *OverlapMeter) {
			m := MeasureOverlap(v, p, 1)
			return m, m
		})
		// With the proposer's probabilities each place is exact; without, it depends on the draft.
		sigma := func(n int) float64 { return math.Sqrt(tt.alpha * (1 - tt.alpha) / float64(n)) }
		for name, s := range map[string]transcript.Drafts{"rejection": classic, "measuring": metered} {
			tol := 1e-6
			if !tt.tells {
				tol += 5 * sigma(s.Compared)
			}
			if got := s.MeanOverlap(); !(math.Abs(got-tt.alpha) <= tol) {
				t.Errorf("%s, %s: mean of Σ min(p, q) = %.6f, want %v", tt.name, name, got, tt.alpha)
			}
		}
		if got := classic.Agreement(); !(math.Abs(got-tt.alpha) <= 5*sigma(classic.Compared)) {
			t.Errorf("%s: rejection accepts %.4f of %d, want %v", tt.name, got, classic.Compared, tt.alpha)
		}
		// The last round of a sequence may be cut short by its limit: 1 % of them are.
		if got, want := classic.TokensPerRound(), Expected(tt.alpha, drafts); !(math.Abs(got/want-1) <= 0.03) {
			t.Errorf("%s: %.3f tokens a round, theory %.3f", tt.name, got, want)
		}
	}
}

// On a real network, measuring changes no bit and counts what was judged. With the target as its
// own assistant the probabilities are equal at any temperature.
func TestOverlapSession(t *testing.T) {
	r := newRig(t, "odd", 2, precision.F16)
	for _, temperature := range []float32{0, 0.8} {
		want, _, _ := r.run(t, None{}, Constant(0), temperature)
		for name, a := range r.assistants() {
			var w *OverlapMeter
			g := r.generate(t, a, Constant(4), temperature, func(s *decoder.Session, l Drafter) Verifier {
				w = MeasureOverlap(s, l, max(temperature, 0.5))
				return w
			})
			if got := g.Choices; !slices.EqualFunc(got, want, sameBits) {
				t.Errorf("%s, T=%v: %v weighed, want %v", name, temperature, got, want)
			}
			if stats := g.Stats.Drafts; w.Positions != stats.Accepted+stats.Refused {
				t.Errorf("%s, T=%v: weighed %d places of %+v", name, temperature, w.Positions, stats)
			}
			mean := w.Overlap / float64(w.Positions)
			if !(mean >= 0 && mean <= 1) || name == "self" && !(mean > 1-1e-4) {
				t.Errorf("%s, T=%v: mean of Σ min(p, q) = %v over %d places", name, temperature, mean, w.Positions)
			}
		}
	}
}

// TestStatsRefused checks that tokens drafted after the first rejected one, or after the end,
// are not counted as judged.
func TestStatsRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		round   Round
		refused int
		alpha   float64
	}{
		{"nothing drafted", Round{Kept: 1}, 0, 0},
		{"all accepted", Round{Drafted: 4, Accepted: 4, Kept: 5}, 0, 1},
		{"the third refused", Round{Drafted: 4, Accepted: 2, Kept: 3}, 1, 2. / 3},
		{"the first refused", Round{Drafted: 4, Kept: 1}, 1, 0},
		{"an end accepted inside", Round{Drafted: 4, Accepted: 2, Kept: 2}, 0, 1},
		{"an end accepted last", Round{Drafted: 4, Accepted: 4, Kept: 4}, 0, 1},
	} {
		var s transcript.Drafts
		s.Count(tt.round.Drafted, tt.round.Accepted, tt.round.Kept)
		if s.Refused != tt.refused || s.Agreement() != tt.alpha {
			t.Errorf("%s: %d refused, agreement %v, want %d, %v", tt.name, s.Refused, s.Agreement(), tt.refused, tt.alpha)
		}
	}
}
