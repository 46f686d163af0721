package decoder

import (
	"context"
	"math"
	"slices"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// A Head is one attention head of the decoder.
type Head struct{ Layer, Head int }

// AlignOptions configure Align.
type AlignOptions struct {
	// Tokens are a whole sequence, prompt and end-of-text included.
	Tokens []tokenizer.Token

	// First is the index of the first token whose probability is wanted; at least 1. len(Tokens) wants none.
	First int

	// Below excludes tokens of this id and above from the probabilities.
	Below tokenizer.Token

	// Heads are those whose cross-attention is wanted.
	Heads []Head

	// Positions is how many audio positions, from the first, they attend to.
	Positions int

	// Yield, if not nil, is called after every few tokens, so that other work can run.
	Yield func()
}

// An Alignment relates tokens to audio.
type Alignment struct {
	// Weights are the cross-attention weights of each head, [len(Tokens)][Positions].
	Weights [][]float32

	// Probs are the probabilities of Tokens[First:] except the last, each after the
	// tokens before it.
	Probs []float32
}

// How many tokens run through the network together. The result does not depend on it; the memory for logits does.
const (
	alignRows         = 32
	alignRowsNoLogits = 128
)

// Align runs a sequence of tokens through the network once more and measures it. The
// result depends only on the window and the tokens, not on how they were found.
func (d *Decoder) Align(ctx context.Context, c *Cross, o AlignOptions) (*Alignment, error) {
	n, vocab := len(o.Tokens), d.dims.Vocab
	a := &Alignment{Weights: make([][]float32, len(o.Heads))}
	for i := range a.Weights {
		a.Weights[i] = make([]float32, n*o.Positions)
	}
	s := d.NewStream(c)
	defer s.Close()
	recorder := &attentionRecorder{heads: o.Heads, last: -1, positions: o.Positions, weights: a.Weights}
	step, logits := alignRowsNoLogits, []float32(nil)
	if o.First < n-1 {
		step = alignRows
		logits = make([]float32, min(n, step)*vocab)
	} else {
		for _, h := range o.Heads {
			recorder.last = max(recorder.last, h.Layer)
		}
	}
	for from := 0; from < n; from += step {
		rows := make([]Row, 0, step)
		for p := from; p < min(n, from+step); p++ {
			rows = append(rows, Row{s, p, o.Tokens[p], o.First <= p+1 && p+2 < n})
		}
		recorder.from = from
		if err := d.stepRecording(ctx, rows, logits, recorder); err != nil {
			return nil, err
		}
		if o.Yield != nil {
			o.Yield()
		}
		at := 0
		for _, r := range rows {
			if r.WantLogits {
				row := logits[at*vocab:][:o.Below]
				a.Probs = append(a.Probs, kernel.Exp(row[o.Tokens[r.Position+1]]-kernel.LogSumExp(row)))
				at++
			}
		}
	}
	return a, nil
}

// An attentionRecorder stores the cross-attention weights of some heads during a step: a [parallel.Task], whose parts
// are the heads.
type attentionRecorder struct {
	heads     []Head
	last      int // layer whose queries are all that is wanted of a step; -1 if logits are
	positions int
	from      int         // row of weights that the first row of the step has
	weights   [][]float32 // of each head, [token][positions]

	// Of the layer that is recorded.
	d     *Decoder
	w     *buffers
	layer int
	spans []kernel.Span
}

// record computes the weights of one layer from its queries. Only the first positions
// take part in the softmax, as in openai/whisper.
func (a *attentionRecorder) record(d *Decoder, w *buffers, layer, rows int) {
	if !slices.ContainsFunc(a.heads, func(h Head) bool { return h.Layer == layer }) {
		return
	}
	a.d, a.w, a.layer, a.spans = d, w, layer, slices.Clone(w.across[:rows])
	for i := range a.spans {
		a.spans[i].N = a.positions
	}
	d.pool.Run(len(a.heads), a)
}

// Part computes the weights of head i, if the layer has it.
func (a *attentionRecorder) Part(i int) {
	if h := a.heads[i]; h.Layer == a.layer {
		width, size := a.d.dims.TextWidth, a.d.dims.TextWidth/a.d.dims.TextHeads
		scale := float32(1 / math.Sqrt(float64(size)))
		kernel.AttendWeights(a.weights[i][a.from*a.positions:], a.w.q, width, h.Head, size, scale, a.spans, &a.w.attend)
	}
}
