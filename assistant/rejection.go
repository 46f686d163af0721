package assistant

import (
	"context"

	"verity/decoder"
	"verity/tokenizer"
)

// A RejectionVerifier is a Verifier whose choices are those of classic speculative
// sampling. A drafted token x is accepted with probability min(1, p(x)/q(x)), where p is
// the target's probability and q the assistant's. The first rejected token is replaced by
// a draw from norm(max(0, p-q)), and a draft accepted whole is followed by a draw from p.
//
// So tokens have the target's distribution whatever q is. They are not bit for bit those
// of plain sampling, and depend on the lengths of drafts.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, algorithm 1.
type RejectionVerifier struct {
	OverlapMeter
	sampling  decoder.Sampling
	committed int
	choices   []decoder.Choice
}

// NewRejectionVerifier wraps v for drafts of p. Its noise is keyed by s.
func NewRejectionVerifier(v ProbVerifier, p Proposer, s decoder.Sampling) *RejectionVerifier {
	r := &RejectionVerifier{OverlapMeter: *MeasureOverlap(v, p, s.Temperature), sampling: s}
	r.draftCost = nil // it needs the probabilities in any case
	return r
}

// Choose returns a choice after each prefix of draft. Choices after the first that differs
// from the draft are meaningless; a round ignores them.
func (r *RejectionVerifier) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := r.ProbVerifier.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	r.choices = append(r.choices[:0], choices...)
	for i := range r.choices {
		c := &r.choices[i]
		if c.Token == tokenizer.None { // everything is forbidden there
			break
		}
		c.Token = r.choose(draft, i)
		c.LogProb = r.LogProb(i, c.Token)
		if i < len(draft) && c.Token != draft[i] {
			break
		}
	}
	return r.choices, nil
}

// Commit keeps tokens.
func (r *RejectionVerifier) Commit(kept []Token) error {
	r.committed += len(kept)
	return r.ProbVerifier.Commit(kept)
}

// choose returns the token at position i.
func (r *RejectionVerifier) choose(draft []Token, i int) Token {
	accept, other := r.sampling.Uniform(r.committed+i, 0), r.sampling.Uniform(r.committed+i, 1)
	if i == len(draft) {
		r.p = r.AppendProbs(r.p[:0], i, r.temperature)
		return draw(r.p, other, 0)
	}
	x, q := draft[i], 1.0
	r.measure(x, i)
	probs := r.draftProbs(i)
	if probs != nil {
		q = float64(probs[x])
	}
	if float64(accept*q) < float64(r.p[x]) {
		return x
	}
	for t := range probs {
		r.p[t] = max(0, r.p[t]-probs[t])
	}
	r.p[x] = 0 // q(x) > p(x)
	return draw(r.p, other, x)
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
