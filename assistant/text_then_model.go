package assistant

import (
	"context"
	"slices"
)

// A TextThenModel is the Proposer and the Policy of a window with a text: it drafts from the
// text, or from a model where the text determines nothing.
type TextThenModel struct {
	text        *TextProposer
	textPolicy  *TextPolicy // nil: modelPolicy decides for both
	model       Proposer    // or None
	modelPolicy Policy      // nil if the model has none
	draft       []Token     // of the coming round, from the text
	rightRun    int         // consecutive tokens from the text that were right
	sureTokens  int         // tokens at the start of draft that do not depend on the text
	usesModel   bool        // the model drafts in the coming round
}

// NewTextThenModel combines a text proposer, whose window has begun, with a model, which may be
// None, and its policy. If textPolicy is nil, the model's policy decides for both.
func NewTextThenModel(text *TextProposer, textPolicy *TextPolicy, model Proposer, policy Policy) *TextThenModel {
	return &TextThenModel{text: text, textPolicy: textPolicy, model: model, modelPolicy: policy}
}

// Length drafts from the text for the coming round, and returns the maximum length.
func (g *TextThenModel) Length() int {
	n := 0
	if g.textPolicy == nil {
		n = g.modelPolicy.Length()
	} else {
		n = g.textPolicy.length(g.rightRun) + g.text.sureTokens()
	}
	g.draft, _ = g.text.Propose(context.Background(), g.draft[:0], n)
	if g.sureTokens = slices.IndexFunc(g.draft, g.text.reference.tok.IsText); g.sureTokens < 0 {
		g.sureTokens = len(g.draft)
	}
	if g.usesModel = len(g.draft) == 0; !g.usesModel {
		return len(g.draft)
	}
	if g.textPolicy != nil && g.modelPolicy != nil {
		n = g.modelPolicy.Length()
	}
	return n
}

// More asks the model's policy whether to continue.
func (g *TextThenModel) More(n int, lp float32) bool {
	return g.modelPolicy == nil || g.modelPolicy.More(n, lp)
}

// Propose returns the draft.
func (g *TextThenModel) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	if !g.usesModel {
		return append(dst, g.draft[:min(limit, len(g.draft))]...), nil
	}
	return g.model.Propose(ctx, dst, limit)
}

// Commit passes the tokens to both proposers.
func (g *TextThenModel) Commit(kept []Token) {
	g.text.Commit(kept)
	g.model.Commit(kept)
}

// Observe reports the round to the policy of whichever source drafted it.
func (g *TextThenModel) Observe(r Round) {
	if g.modelPolicy != nil && (g.usesModel || g.textPolicy == nil) {
		g.modelPolicy.Observe(r)
	}
	if g.textPolicy != nil && (!g.usesModel || r.Drafted == 0) {
		g.rightRun = g.textPolicy.observe(r, g.rightRun, g.sureTokens)
	}
}

// Cost returns the cost of the model's drafts.
func (g *TextThenModel) Cost() Cost {
	if m, ok := g.model.(CostReporter); ok {
		return m.Cost()
	}
	return Cost{}
}
