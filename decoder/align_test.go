package decoder

import (
	"math/rand/v2"
	"slices"
	"testing"

	"verity/tokenizer"
)

// TestAlignWithoutProbabilities: a pass without logits, which ends at the last layer that is wanted, has the weights of
// one that has them.
func TestAlignWithoutProbabilities(t *testing.T) {
	d := open(t, "sharded", Options{})
	m := d.Dims()
	c := cross(t, d, 1)
	defer c.Close()
	o := AlignOptions{
		Tokens: randomTokens(rand.New(rand.NewPCG(1, 2)), m.TextPositions, m.Vocab), Below: tokenizer.Token(m.Vocab),
		Positions: m.AudioPositions - 1,
	}
	for layer := range m.TextLayers {
		o.Heads = append(o.Heads, Head{layer, 0}, Head{layer, m.TextHeads - 1})
		var with [2]*Alignment
		for i, first := range []int{1, len(o.Tokens)} {
			var err error
			o.First = first
			if with[i], err = d.Align(t.Context(), c, o); err != nil {
				t.Fatal(err)
			}
		}
		if len(with[0].Probs) != len(o.Tokens)-2 || len(with[1].Probs) > 0 || !slices.EqualFunc(with[0].Weights, with[1].Weights, equalBits) {
			t.Errorf("heads %v: the weights differ, or %d and %d probabilities", o.Heads, len(with[0].Probs), len(with[1].Probs))
		}
	}
}
