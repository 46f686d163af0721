package assistant

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/decoder"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcript"
)

// faces is the vocabulary of dice.
const faces = 4

// A dice chooses at random: as a target with probabilities that are a function of the
// tokens before a position, as a proposer with those of another such function.
type dice struct {
	None
	weights func(prefix []Token) [faces]float32
	rng     *rand.Rand
	tokens  []Token
	draft   []Token
	drawn   [][]float32
}

// probs returns the normalised weights.
func (d *dice) probs(prefix []Token) []float32 {
	w, sum := d.weights(prefix), float32(0)
	for _, v := range w {
		sum += v
	}
	for i := range w {
		w[i] /= sum
	}
	return w[:]
}

func (d *dice) Choose(_ context.Context, draft []Token) ([]decoder.Choice, error) {
	d.draft = slices.Clone(draft)
	return make([]decoder.Choice, len(draft)+1), nil
}

func (d *dice) End() (decoder.Choice, bool) { return decoder.Choice{}, false }

func (d *dice) AppendProbs(dst []float32, i int, _ float32) []float32 {
	return append(dst, d.probs(slices.Concat(d.tokens, d.draft[:i]))...)
}

func (d *dice) LogProb(int, Token) float32 { return 0 }

func (d *dice) Commit(kept []Token) error {
	d.tokens = append(d.tokens, kept...)
	return nil
}

func (d *dice) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	d.drawn = d.drawn[:0]
	for range limit {
		p, u, t := d.probs(slices.Concat(d.tokens, dst)), d.rng.Float32(), 0
		for ; t < faces-1 && u >= p[t]; t++ {
			u -= p[t]
		}
		d.drawn = append(d.drawn, p)
		dst = append(dst, Token(t))
	}
	return dst, nil
}

// A drafting is a dice as a proposer.
type drafting struct{ *dice }

func (d drafting) Commit(kept []Token) { d.dice.Commit(kept) }

// A teller is one that reports its probabilities.
type teller struct{ drafting }

func (teller) KeepProbs(float32) {}

func (t teller) Probs(i int) []float32 { return t.drawn[i] }

// TestRejection tests the guarantee of speculative sampling: whatever the probabilities
// of the drafts, sequences occur as often as the target's probabilities say. Pearson's
// chi-square over all sequences of three tokens; with 63 degrees of freedom a right
// sampler exceeds 125 once in 200,000 seeds, and the seeds are fixed.
func TestRejection(t *testing.T) {
	const length, sequences, limit = 3, 40_000, 125.0
	target := func(prefix []Token) [faces]float32 {
		w := [faces]float32{5, 3, 2, 1}
		for i, v := range prefix { // the probs change with every token before
			w[(int(v)+i)%faces] += 4
		}
		return w
	}
	always := func(w [faces]float32) func([]Token) [faces]float32 {
		return func([]Token) [faces]float32 { return w }
	}
	for _, tt := range []struct {
		name  string
		q     func([]Token) [faces]float32
		tells bool
		why   string
	}{
		{"the target itself", target, true, "everything is accepted"},
		{"even", always([faces]float32{1, 1, 1, 1}), true, "some is accepted"},
		{"contrary", always([faces]float32{1, 2, 4, 9}), true, "much is refused"},
		{"blind to one", always([faces]float32{0, 1, 1, 1}), true, "what is never drafted must come all the same"},
		{"sure of one", always([faces]float32{0, 0, 1, 0}), false, "a table: q is all on what it drafts"},
		{"probs untold", always([faces]float32{1, 1, 1, 1}), false, "taken for sure, which is right for any draft"},
	} {
		for _, drafts := range []int{0, 1, 4} {
			counts := map[[length]Token]float64{}
			accepted, drafted := 0, 0
			for n := range sequences {
				v := &dice{weights: target}
				d := &dice{weights: tt.q, rng: rand.New(rand.NewPCG(uint64(n), 7))}
				p := Proposer(drafting{d})
				if tt.tells {
					p = teller{drafting{d}}
				}
				g, err := Generate(t.Context(), NewRejectionVerifier(v, p, decoder.Sampling{Temperature: 1, Seed: uint64(n)}), p, Options{EOT: -1, Limit: length, Policy: Constant(drafts)})
				if err != nil {
					t.Fatal(err)
				}
				var seq [length]Token
				for i, c := range g.Choices {
					seq[i] = c.Token
				}
				counts[seq]++
				accepted, drafted = accepted+g.Stats.Drafts.Accepted, drafted+g.Stats.Drafts.Drafted
			}
			chi, of := 0.0, &dice{weights: target}
			for s := range Token(faces * faces * faces) {
				seq := [length]Token{s / faces / faces, s / faces % faces, s % faces}
				want := float64(sequences)
				for i, v := range seq {
					want *= float64(of.probs(seq[:i])[v])
				}
				chi += (counts[seq] - want) * (counts[seq] - want) / want
			}
			if !(chi <= limit) {
				t.Errorf("%s, drafts of %d (%s): chi-square %.1f, limit %.0f", tt.name, drafts, tt.why, chi, limit)
			}
			if tt.name == "the target itself" && accepted != drafted {
				t.Errorf("drafts of the target's own probs: %d of %d accepted", accepted, drafted)
			}
		}
	}
}

// On a real network, every draft of an assistant with the target's probabilities is accepted; at
// temperature 0 rejection is greedy; other assistants end correctly.
func TestRejectionSession(t *testing.T) {
	r := newRig(t, "odd", 2, precision.F16)
	r.limit = 16
	run := func(a Assistant, temperature float32) ([]decoder.Choice, transcript.Drafts) {
		g := r.generate(t, a, Constant(4), temperature, func(s *decoder.Session, l Drafter) Verifier {
			return NewRejectionVerifier(s, l, r.options(temperature).Sampling)
		})
		return g.Choices, g.Stats.Drafts
	}
	greedy, _, _ := r.run(t, None{}, Constant(0), 0)
	for name, a := range r.assistants() {
		got, stats := run(a, 0)
		if want := greedy[:min(16, len(greedy))]; !slices.EqualFunc(got, want, sameBits) {
			t.Errorf("%s at temperature 0: %v, want %v", name, got, want)
		}
		got, stats = run(a, 0.8)
		if name == "self" && (stats.Drafted == 0 || stats.Accepted != stats.Drafted) {
			t.Errorf("self: %d of %d drafts accepted", stats.Accepted, stats.Drafted)
		}
		for i, c := range got {
			if c.Token == tokenizer.None || !(c.LogProb <= 0) {
				t.Errorf("%s: choice %d is %v", name, i, c)
			}
		}
	}
}
