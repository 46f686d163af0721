package assistant

import (
	"context"

	"verity/decoder"
	"verity/tokenizer"
)

// A ProbVerifier is a Verifier that also returns the probabilities of its choices.
// *decoder.Session implements it.
type ProbVerifier interface {
	Verifier

	// AppendProbs appends to dst the probability [Vocab] with which each token would be
	// chosen at position i of the last Choose at a temperature.
	AppendProbs(dst []float32, i int, temperature float32) []float32

	// LogProb returns the log-probability of t at position i of the last Choose.
	LogProb(i int, t Token) float32
}

// A ProbProposer is a Proposer that knows the probabilities from which it draws drafts.
// One that is not is sure of each token it drafts.
type ProbProposer interface {
	Proposer

	// KeepProbs makes it keep them, at a temperature.
	KeepProbs(temperature float32)

	// Probs returns the probability [Vocab] with which each token could have been drafted
	// at position i of the last draft.
	Probs(i int) []float32
}

// A Weigher is a Verifier that weighs the probabilities of a target, p, against those of
// its assistant, q. Overlap sums Σ min(p, q) over the vocabulary, of so many Positions. The
// mean is the theory's α, the probability that rejection sampling accepts a draft. Only
// positions that the target judged count, up to the first refused draft: after that one,
// the text before a position is not the target's own.
//
// Its choices are those of the Verifier that it wraps, or for Reject those of classic
// speculative sampling. A token x that was drafted is then accepted with probability
// min(1, p(x)/q(x)). The first refused token is replaced by a draw from norm(max(0, p-q)),
// and a draft accepted whole is followed by a draw from p. So tokens have the target's
// distribution whatever q is. They are not bit for bit those of plain sampling, and depend
// on the lengths of drafts.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, corollary 3.6 and algorithm 1.
type Weigher struct {
	Positions int
	Overlap   float64

	ProbVerifier
	rejects bool
	probs   func(i int) []float32 // of the proposer; nil where it is sure of its token
	noise   decoder.Sampling
	kept    int
	p       []float32 // the target's, at one position
	choices []decoder.Choice
}

// Reject wraps v for drafts of p, for Generate. Its noise is keyed by s.
func Reject(v ProbVerifier, p Proposer, s decoder.Sampling) *Weigher {
	w := MeasureOverlap(v, p, s.Temperature)
	w.rejects, w.noise = true, s
	return w
}

// MeasureOverlap wraps v for drafts of p. The probabilities are those at a temperature:
// at 0 one token has all of it, and the overlap is agreement.
func MeasureOverlap(v ProbVerifier, p Proposer, temperature float32) *Weigher {
	w := &Weigher{ProbVerifier: v, noise: decoder.Sampling{Temperature: temperature}, probs: func(int) []float32 { return nil }}
	if p, knows := p.(ProbProposer); knows {
		p.KeepProbs(temperature)
		w.probs = p.Probs
	}
	return w
}

// Choose returns a choice after each prefix of draft. Those behind the first that differs
// from the draft have no meaning for Reject; a round ignores them.
func (w *Weigher) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := w.ProbVerifier.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	w.choices = append(w.choices[:0], choices...)
	for i, c := range choices {
		if c.Token == tokenizer.None || i == len(draft) && !w.rejects {
			break // everything is forbidden there, or nothing drafted
		}
		w.p = w.AppendProbs(w.p[:0], i, w.noise.Temperature)
		if i < len(draft) {
			w.Positions++
			w.Overlap += overlap(w.p, w.probs(i), draft[i])
		}
		if w.rejects {
			c.Token = w.decide(draft, i)
			c.LogProb = w.LogProb(i, c.Token)
			w.choices[i] = c
		}
		if i < len(draft) && c.Token != draft[i] {
			break
		}
	}
	return w.choices, nil
}

// Commit keeps tokens.
func (w *Weigher) Commit(ctx context.Context, kept []Token) error {
	w.kept += len(kept)
	return w.ProbVerifier.Commit(ctx, kept)
}

// overlap returns Σ min(p, q). If q is nil, the assistant was sure of x.
func overlap(p, q []float32, x Token) float64 {
	if q == nil {
		return float64(p[x])
	}
	sum := 0.0
	for t, v := range q {
		sum += float64(min(p[t], v))
	}
	return min(sum, 1) // one, but for rounding
}

// decide returns the token at position i, whose probabilities are w.p.
func (w *Weigher) decide(draft []Token, i int) Token {
	accept, other := w.noise.Uniform(w.kept+i, 0), w.noise.Uniform(w.kept+i, 1)
	if i == len(draft) {
		return draw(w.p, other, 0)
	}
	x, q := draft[i], 1.0
	probs := w.probs(i)
	if probs != nil {
		q = float64(probs[x])
	}
	if float64(accept*q) < float64(w.p[x]) {
		return x
	}
	for t := range probs {
		w.p[t] = max(0, w.p[t]-probs[t])
	}
	w.p[x] = 0 // q(x) > p(x)
	return draw(w.p, other, x)
}

// draw returns a token with the probability of its weight, at u of [0, 1) of their sum.
// If the sum is 0, p and q differ only by rounding, and the draft x is accepted.
func draw(weights []float32, u float64, x Token) Token {
	total := 0.0
	for _, w := range weights {
		total += float64(w)
	}
	if total == 0 {
		return x
	}
	at, sum := Token(0), 0.0
	for t, w := range weights {
		if w == 0 {
			continue
		}
		at, sum = Token(t), sum+float64(w)
		if sum > float64(u*total) {
			break
		}
	}
	return at
}
