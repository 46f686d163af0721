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
	// at position i of the last draft; nil if the proposer was sure of its token.
	Probs(i int) []float32
}

// probsOf makes p keep its probabilities, if it knows them, and returns its Probs.
func probsOf(p Proposer, temperature float32) func(i int) []float32 {
	if p, knows := p.(ProbProposer); knows {
		p.KeepProbs(temperature)
		return p.Probs
	}
	return func(int) []float32 { return nil }
}

// A Rejection is the Verifier of classic speculative sampling. A token x that was drafted
// with probability q(x) is accepted with probability min(1, p(x)/q(x)), where p is the
// target's. The first refused token is replaced by a draw from norm(max(0, p-q)), and a
// draft accepted whole is followed by a draw from p. So tokens have the target's
// distribution whatever q is. They are not bit for bit those of plain sampling, and
// depend on the lengths of drafts.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, algorithm 1.
type Rejection struct {
	v       ProbVerifier
	probs   func(i int) []float32 // of the proposer
	noise   decoder.Sampling
	kept    int
	target  []float32 // probabilities at one position
	choices []decoder.Choice
	Overlap Overlap // so far
}

// Reject wraps v for drafts of p, for Generate. Its noise is keyed by s.
func Reject(v ProbVerifier, p Proposer, s decoder.Sampling) *Rejection {
	return &Rejection{v: v, probs: probsOf(p, s.Temperature), noise: s}
}

// Choose returns draft as far as it is accepted, then the token that follows. Choices
// after that have no meaning; a round ignores them.
func (r *Rejection) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := r.v.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	r.choices = append(r.choices[:0], choices...)
	for i, c := range choices {
		if c.Token == tokenizer.None {
			break // everything is forbidden there
		}
		t := r.decide(draft, i)
		r.choices[i] = decoder.Choice{Token: t, LogProb: r.v.LogProb(i, t)}
		if i < len(draft) && t != draft[i] {
			break
		}
	}
	return r.choices, nil
}

// Commit keeps tokens.
func (r *Rejection) Commit(ctx context.Context, kept []Token) error {
	r.kept += len(kept)
	return r.v.Commit(ctx, kept)
}

// decide returns the token at position i.
func (r *Rejection) decide(draft []Token, i int) Token {
	accept, other := r.noise.Uniform(r.kept+i, 0), r.noise.Uniform(r.kept+i, 1)
	r.target = r.v.AppendProbs(r.target[:0], i, r.noise.Temperature)
	if i == len(draft) {
		return draw(r.target, other, 0)
	}
	x, q := draft[i], 1.0
	probs := r.probs(i)
	if probs != nil {
		q = float64(probs[x])
	}
	r.Overlap.add(r.target, probs, x)
	if float64(accept*q) < float64(r.target[x]) {
		return x
	}
	for t := range probs {
		r.target[t] = max(0, r.target[t]-probs[t])
	}
	r.target[x] = 0 // q(x) > p(x)
	return draw(r.target, other, x)
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
