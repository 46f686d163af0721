package assistant

import (
	"context"
	"slices"
)

// A TextThenModel is the Proposer of a window for which there is a text, and its Policy: it
// drafts from the text, and where that has nothing, from a model.
type TextThenModel struct {
	text        *TextProposer
	textPolicy  *TextPolicy // nil: policy decides for both
	model       Proposer    // or None
	modelPolicy Policy      // nil: none for the model
	draft       []Token     // of the coming round, from the text
	rightRun    int         // drafted tokens that were right, in a row
	sureTokens  int         // tokens at the start of draft that tell nothing of the text
	usesModel   bool        // the model is asked for the coming round
}

// NewTextThenModel returns a guide of a text, whose window has begun, and of a model, which may be
// None, and its policy. Without a pace the policy decides for both.
func NewTextThenModel(text *TextProposer, pace *TextPolicy, model Proposer, policy Policy) *TextThenModel {
	return &TextThenModel{text: text, textPolicy: pace, model: model, modelPolicy: policy}
}

// Length makes the draft of the coming round, and returns its length.
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

// More asks the model's policy.
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

// Commit passes the tokens on to both.
func (g *TextThenModel) Commit(ctx context.Context, kept []Token) error {
	if err := g.text.Commit(ctx, kept); err != nil {
		return err
	}
	return g.model.Commit(ctx, kept)
}

// Observe tells a round to who drafted.
func (g *TextThenModel) Observe(r Round) {
	if g.modelPolicy != nil && (g.usesModel || g.textPolicy == nil) {
		g.modelPolicy.Observe(r)
	}
	if g.textPolicy != nil && (!g.usesModel || r.Drafted == 0) {
		g.rightRun = g.textPolicy.observe(r, g.rightRun, g.sureTokens)
	}
}

// Cost returns what the model's drafts took.
func (g *TextThenModel) Cost() Cost {
	if m, ok := g.model.(CostReporter); ok {
		return m.Cost()
	}
	return Cost{}
}
