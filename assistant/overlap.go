package assistant

import (
	"context"
	"time"

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

// A ProbProposer is a Proposer that knows the probabilities it draws drafts from. Any
// other proposer counts as certain of each token it drafts.
type ProbProposer interface {
	Proposer

	// KeepProbs makes it store them, at a temperature.
	KeepProbs(temperature float32)

	// Probs returns the probability [Vocab] with which each token could have been drafted
	// at position i of the last draft.
	Probs(i int) []float32
}

// An OverlapMeter is a Verifier that compares the probabilities of the target, p, with
// those of its assistant, q. It chooses what the Verifier it wraps chooses.
//
// The mean, Overlap/Positions, is the theory's α: the probability that rejection sampling
// accepts a draft. Only positions up to the first rejected draft count, because the text
// before later ones is not the target's own.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, corollary 3.6.
type OverlapMeter struct {
	Positions int     // positions compared
	Overlap   float64 // sum over them of Σ min(p, q) over the vocabulary

	ProbVerifier
	took        time.Duration
	draftCost   CostReporter          // the proposer, if it keeps probabilities; else nil
	draftProbs  func(i int) []float32 // of the proposer; nil where it is certain of its token
	temperature float32
	p           []float32 // the target's, at one position
}

// MeasureOverlap wraps v for drafts of p. The probabilities are those at a temperature: at
// 0 one token has all of it, and the overlap is agreement.
func MeasureOverlap(v ProbVerifier, p Proposer, temperature float32) *OverlapMeter {
	m := &OverlapMeter{ProbVerifier: v, temperature: temperature, draftProbs: func(int) []float32 { return nil }}
	if p, ok := p.(ProbProposer); ok {
		p.KeepProbs(temperature)
		m.draftProbs = p.Probs
		m.draftCost, _ = p.(CostReporter)
	}
	return m
}

// Took returns the time of comparing, which decoding does not need.
func (m *OverlapMeter) Took() time.Duration {
	if m.draftCost == nil {
		return m.took
	}
	return m.took + m.draftCost.Cost().Probs
}

// Choose returns a choice after each prefix of draft.
func (m *OverlapMeter) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := m.ProbVerifier.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	defer func(began time.Time) { m.took += time.Since(began) }(time.Now())
	for i, x := range draft {
		if choices[i].Token == tokenizer.None { // everything is forbidden there
			break
		}
		m.measure(x, i)
		if choices[i].Token != x {
			break
		}
	}
	return choices, nil
}

// measure adds position i, for which x was drafted, and leaves the target's probabilities
// there in p.
func (m *OverlapMeter) measure(x Token, i int) {
	m.p = m.AppendProbs(m.p[:0], i, m.temperature)
	m.Positions++
	m.Overlap += overlap(m.p, m.draftProbs(i), x)
}

// overlap returns Σ min(p, q). If q is nil, the assistant was certain of x.
func overlap(p, q []float32, x Token) float64 {
	if q == nil {
		return float64(p[x])
	}
	sum := 0.0
	for t, v := range q {
		sum += float64(min(p[t], v))
	}
	return min(sum, 1) // rounding can make it more
}
