package assistant

import (
	"context"
	"slices"
)

// A Guide is the Proposer of a window for which there is a text, and its Policy: it
// drafts from the text, and where that has nothing, from a model.
type Guide struct {
	text   *Follower
	pace   *Pace    // nil: policy decides for both
	model  Proposer // or None
	policy Policy   // nil: none for the model
	draft  []Token  // of the coming round, from the text
	right  int      // drafted tokens that were right, in a row
	ahead  int      // tokens at the start of draft that tell nothing of the text
	asked  bool     // the model is asked for the coming round
}

// NewGuide returns a guide of a text, whose window has begun, and of a model, which may be
// None, and its policy. Without a pace the policy decides for both.
func NewGuide(text *Follower, pace *Pace, model Proposer, policy Policy) *Guide {
	return &Guide{text: text, pace: pace, model: model, policy: policy}
}

// Length makes the draft of the coming round, and returns its length.
func (g *Guide) Length() int {
	n := 0
	if g.pace == nil {
		n = g.policy.Length()
	} else {
		n = g.pace.length(g.right) + g.text.ahead()
	}
	g.draft, _ = g.text.Propose(context.Background(), g.draft[:0], n)
	if g.ahead = slices.IndexFunc(g.draft, g.text.t.tok.IsText); g.ahead < 0 {
		g.ahead = len(g.draft)
	}
	if g.asked = len(g.draft) == 0; !g.asked {
		return len(g.draft)
	}
	if g.pace != nil && g.policy != nil {
		n = g.policy.Length()
	}
	return n
}

// More asks the model's policy.
func (g *Guide) More(n int, lp float32) bool { return g.policy == nil || g.policy.More(n, lp) }

// Propose returns the draft.
func (g *Guide) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	if !g.asked {
		return append(dst, g.draft[:min(limit, len(g.draft))]...), nil
	}
	return g.model.Propose(ctx, dst, limit)
}

// Commit passes the tokens on to both.
func (g *Guide) Commit(ctx context.Context, kept []Token) error {
	if err := g.text.Commit(ctx, kept); err != nil {
		return err
	}
	return g.model.Commit(ctx, kept)
}

// Observe tells a round to who drafted.
func (g *Guide) Observe(r Round) {
	if g.policy != nil && (g.asked || g.pace == nil) {
		g.policy.Observe(r)
	}
	if g.pace != nil && (!g.asked || r.Drafted == 0) {
		g.right = g.pace.observe(r, g.right, g.ahead)
	}
}

// Cost returns what the model's drafts took.
func (g *Guide) Cost() Cost {
	if m, ok := g.model.(Meter); ok {
		return m.Cost()
	}
	return Cost{}
}
