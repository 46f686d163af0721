package assistant

import (
	"context"
	"fmt"
	"time"

	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// Token is a token of the model's vocabulary.
type Token = tokenizer.Token

// A Proposer drafts tokens for the decoder to verify.
type Proposer interface {
	// Propose appends to dst at most limit tokens that may follow the committed
	// ones. Fewer, or none, is always right: the round then yields one token.
	Propose(ctx context.Context, dst []Token, limit int) ([]Token, error)

	// Commit tells the proposer which tokens were kept this round. Its cache
	// must afterwards hold exactly the committed tokens, so that drafts the
	// decoder refused leave no trace.
	Commit(ctx context.Context, kept []Token) error
}

// A Verifier is the decoder as a round sees it. *decoder.Session implements it.
type Verifier interface {
	// Choose returns the decoder's own choice after each prefix of draft:
	// len(draft)+1 of them, the first following the committed tokens. Each sees
	// the logit rules as plain decoding would at that place.
	Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error)

	// Commit keeps a prefix of the last draft plus one choice and drops whatever
	// else Choose put in the cache.
	Commit(ctx context.Context, kept []Token) error
}

// None is the Proposer of plain decoding: its drafts are empty.
type None struct{}

// Propose drafts nothing.
func (None) Propose(_ context.Context, dst []Token, _ int) ([]Token, error) { return dst, nil }

// Commit has nothing to remember.
func (None) Commit(context.Context, []Token) error { return nil }

// A Generation is one sequence being decoded. It is resumable: a scheduler
// advances many of them, a round at a time, by Draft and Accept; Round does both
// for one.
type Generation struct {
	v        Verifier
	p        Proposer
	eot      Token
	limit    int
	draft    []Token
	kept     []Token
	choices  []decoder.Choice
	accepted []bool // of each choice: it is an accepted draft
	done     bool
	broken   *BrokenError // since when there is no proposer

	policy Policy // nil: as long as the proposer likes
	stats  transcript.Stats
	round  Round
	since  time.Time // end of the last Draft
}

// Begin returns a generation of at most limit tokens, end-of-text included.
func Begin(v Verifier, p Proposer, eot Token, limit int) *Generation {
	return &Generation{v: v, p: p, eot: eot, limit: limit, done: limit <= 0}
}

// Pace puts drafts under a policy, which may have learnt from other sequences.
func (g *Generation) Pace(policy Policy) {
	g.policy = policy
	if policy != nil {
		policy.Begin()
	}
}

// Stats returns the counts and times of all rounds so far.
func (g *Generation) Stats() transcript.Stats { return g.stats }

// Broken returns why the proposer is asked no more; nil if it still is.
func (g *Generation) Broken() *BrokenError { return g.broken }

// A BrokenError reports an assistant that could not draft, as one with broken weights
// cannot. The choices are the target's, so decoding goes on without it.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the assistant cannot draft: %v; get its files anew, or leave it out (--assistant none)", e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// abandon goes on without the proposer.
func (g *Generation) abandon(err error) {
	g.broken = &BrokenError{err}
	g.p, g.policy, g.draft = None{}, nil, g.draft[:0]
}

// Generate runs a generation to its end.
func Generate(ctx context.Context, v Verifier, p Proposer, eot Token, limit int) ([]decoder.Choice, error) {
	g := Begin(v, p, eot, limit)
	for !g.Done() {
		if err := g.Round(ctx); err != nil {
			return g.Choices(), err
		}
	}
	return g.Choices(), nil
}

// Done reports whether the sequence has ended.
func (g *Generation) Done() bool { return g.done }

// Choices returns what was kept so far. The last one is end-of-text if the
// sequence ended by itself.
func (g *Generation) Choices() []decoder.Choice { return g.choices }

// Accepted says for each choice whether it is an accepted draft.
func (g *Generation) Accepted() []bool { return g.accepted }

// Round drafts, verifies and commits once.
func (g *Generation) Round(ctx context.Context) error {
	draft, err := g.Draft(ctx)
	if err != nil {
		return err
	}
	choices, err := g.v.Choose(ctx, draft)
	if err != nil {
		return err
	}
	return g.Accept(ctx, choices)
}

// Draft asks the proposer. A round yields the accepted drafts and one token
// more, so a draft is one shorter than what may still come. A proposer that fails is
// asked no more, unless it was ctx that ended.
func (g *Generation) Draft(ctx context.Context) (_ []Token, err error) {
	begin, room := time.Now(), g.limit-len(g.choices)-1
	if g.policy != nil {
		room = min(room, g.policy.Length())
	}
	g.draft = g.draft[:0]
	if room > 0 {
		g.draft, err = g.p.Propose(ctx, g.draft, room)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			g.abandon(err)
		}
		if len(g.draft) > room {
			return nil, fmt.Errorf("assistant: draft of %d tokens, at most %d were asked for", len(g.draft), room)
		}
	}
	g.since = time.Now()
	g.round = Round{First: len(g.choices) == 0, Drafted: len(g.draft), Draft: g.since.Sub(begin)}
	return g.draft, nil
}

// Accept keeps the choices up to and including the first that differs from the
// draft, but none after an end-of-text, and commits them on both sides.
func (g *Generation) Accept(ctx context.Context, choices []decoder.Choice) error {
	if len(choices) != len(g.draft)+1 {
		return fmt.Errorf("assistant: got %d choices for a draft of %d tokens, want one more", len(choices), len(g.draft))
	}
	same := agree(g.draft, choices)
	g.kept = g.kept[:0]
	for i, c := range choices[:same+1] {
		g.choices = append(g.choices, c)
		g.accepted = append(g.accepted, i < same)
		g.round.Kept++
		if c.Token == g.eot {
			g.done = true
			break
		}
		g.kept = append(g.kept, c.Token)
	}
	g.done = g.done || len(g.choices) >= g.limit
	if err := g.v.Commit(ctx, g.kept); err != nil {
		return err
	}
	g.count(min(same, g.round.Kept))
	if err := g.p.Commit(ctx, g.kept); err != nil {
		g.abandon(err)
	}
	return nil
}

// count counts the round that ends here.
func (g *Generation) count(accepted int) {
	g.round.Accepted, g.round.Verify = accepted, time.Since(g.since)
	g.stats.Drafts.Count(g.round.Drafted, accepted, g.round.Kept)
	g.stats.Seconds.Draft += g.round.Draft.Seconds()
	g.stats.Seconds.Verify += g.round.Verify.Seconds()
	if g.policy != nil {
		g.policy.Observe(g.round)
	}
}

// agree returns the length of the longest prefix of draft that the decoder
// would have chosen itself. len(choices) is len(draft)+1.
func agree(draft []Token, choices []decoder.Choice) int {
	for i, d := range draft {
		if d != choices[i].Token {
			return i
		}
	}
	return len(draft)
}
