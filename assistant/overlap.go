package assistant

import (
	"context"

	"verity/decoder"
	"verity/tokenizer"
)

// An Overlap is how far the odds of a target, p, and of its assistant, q, agree:
// Σ min(p, q) over the vocabulary, summed over places. Its mean is the α of
// theory, the chance that rejection sampling accepts a draft of that place. It is
// counted where the target judged a draft, up to the first it refused: further on
// no text of the target's comes before.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, corollary 3.6.
type Overlap struct {
	Places int
	Sum    float64
}

// Mean returns the mean over places; 0 without any.
func (o Overlap) Mean() float64 {
	if o.Places == 0 {
		return 0
	}
	return o.Sum / float64(o.Places)
}

// add counts a place. If q is nil, the assistant was sure of x.
func (o *Overlap) add(p, q []float32, x Token) {
	o.Places++
	if q == nil {
		o.Sum += float64(p[x])
		return
	}
	sum := 0.0
	for t, v := range q {
		sum += float64(min(p[t], v))
	}
	o.Sum += min(sum, 1) // the odds of one side sum to one but for rounding
}

// A Weighing is a Verifier that chooses as another, and sums up the overlap of its
// odds with the proposer's.
type Weighing struct {
	Weigher
	teller      Teller // nil: the proposer is sure of what it drafts
	temperature float32
	p           []float32
	overlap     Overlap
}

// Weigh makes a Verifier of v for drafts of p. Odds are those of a temperature: at
// 0 all are of one token, and their overlap is mere agreement.
func Weigh(v Weigher, p Proposer, temperature float32) *Weighing {
	w := &Weighing{Weigher: v, temperature: temperature}
	if t, ok := p.(Teller); ok {
		t.Tell(temperature)
		w.teller = t
	}
	return w
}

// Choose returns the choices of the Verifier it was made of.
func (w *Weighing) Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error) {
	choices, err := w.Weigher.Choose(ctx, draft)
	if err != nil {
		return nil, err
	}
	for i, x := range draft {
		if choices[i].Token == tokenizer.None {
			break // everything is forbidden there
		}
		var q []float32
		if w.teller != nil {
			q = w.teller.Odds(i)
		}
		w.p = w.AppendOdds(w.p[:0], i, w.temperature)
		w.overlap.add(w.p, q, x)
		if x != choices[i].Token {
			break
		}
	}
	return choices, nil
}

// Overlap returns how far the odds of both sides agreed.
func (w *Weighing) Overlap() Overlap { return w.overlap }
