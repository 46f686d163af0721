package assistant

import (
	"context"

	"verity/decoder"
	"verity/tokenizer"
)

// An Overlap says how much the probabilities of a target, p, and of its assistant, q,
// agree: Σ min(p, q) over the vocabulary, summed over positions. Its mean is the theory's
// α, the probability that rejection sampling accepts a draft. Only positions that the
// target judged count, up to the first refused draft: after that one, the text before a
// position is not the target's own.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, corollary 3.6.
type Overlap struct {
	Positions int
	Sum       float64
}

// add counts a position. If q is nil, the assistant was sure of x.
func (o *Overlap) add(p, q []float32, x Token) {
	o.Positions++
	if q == nil {
		o.Sum += float64(p[x])
		return
	}
	sum := 0.0
	for t, v := range q {
		sum += float64(min(p[t], v))
	}
	o.Sum += min(sum, 1) // one, but for rounding
}

// An OverlapVerifier returns the choices of another Verifier, and sums the overlap of its
// probabilities with the proposer's.
type OverlapVerifier struct {
	ProbVerifier
	probs       func(i int) []float32 // of the proposer
	temperature float32
	p           []float32
	Overlap     Overlap // so far
}

// MeasureOverlap wraps v for drafts of p. The probabilities are those at a temperature:
// at 0 one token has all of it, and the overlap is agreement.
func MeasureOverlap(v ProbVerifier, p Proposer, temperature float32) *OverlapVerifier {
	return &OverlapVerifier{ProbVerifier: v, probs: probsOf(p, temperature), temperature: temperature}
}

// Choose returns the choices of the wrapped Verifier.
func (w *OverlapVerifier) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := w.ProbVerifier.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	for i, x := range draft {
		if choices[i].Token == tokenizer.None {
			break // everything is forbidden there
		}
		w.p = w.AppendProbs(w.p[:0], i, w.temperature)
		w.Overlap.add(w.p, w.probs(i), x)
		if x != choices[i].Token {
			break
		}
	}
	return choices, nil
}
