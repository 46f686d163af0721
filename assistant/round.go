package assistant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// Token is a token of the model's vocabulary.
type Token = tokenizer.Token

// A Proposer drafts tokens for the decoder to verify. It may also be a [ProbProposer] or
// a [Meter].
type Proposer interface {
	// Propose appends to dst at most limit tokens that may follow the committed ones.
	// Fewer, or none, is always valid: the round then yields one token.
	Propose(ctx context.Context, dst []Token, limit int) ([]Token, error)

	// Commit passes on the tokens kept in this round. The proposer's cache must then hold
	// exactly the committed tokens, without refused drafts.
	Commit(ctx context.Context, kept []Token) error
}

// A Meter is a Proposer whose drafts take time and memory. The drafts of others are free.
type Meter interface {
	// Cost returns the sum since the proposer began.
	Cost() Cost
}

// A Cost is what drafting took.
type Cost struct {
	decoder.Traffic               // of the passes
	Opening         time.Duration // to prepare for the window
}

// A Verifier is the decoder's side of a round. *decoder.Session implements it.
type Verifier interface {
	// Choose returns the decoder's own choice after each prefix of draft: len(draft)+1 of
	// them, the first following the committed tokens. Each is made under the logit rules
	// of plain decoding at that position.
	Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error)

	// Commit keeps a prefix of the last draft plus one choice and drops all else that
	// Choose put in the cache.
	Commit(ctx context.Context, kept []Token) error
}

// None is the Proposer of plain decoding: its drafts are empty.
type None struct{}

// Propose drafts nothing.
func (None) Propose(_ context.Context, dst []Token, _ int) ([]Token, error) { return dst, nil }

// Commit has nothing to do.
func (None) Commit(context.Context, []Token) error { return nil }

// Options say how a sequence is generated.
type Options struct {
	// EOT is the token that ends the sequence.
	EOT Token

	// Limit is the maximum number of tokens to generate, end-of-text included.
	Limit int

	// Policy decides draft lengths. It may have learnt from other sequences. Nil means
	// that the proposer decides.
	Policy Policy

	// Clock times rounds. Nil means the wall clock.
	Clock func() time.Duration
}

// A Generation is one sequence being decoded, a round at a time.
type Generation struct {
	o       Options
	v       Verifier
	p       Proposer
	meter   Meter  // p, if its drafts cost anything
	cost    Cost   // of p so far
	policy  Policy // nil: the proposer decides draft lengths
	draft   []Token
	kept    []Token // this round, without end-of-text
	choices []decoder.Choice
	marks   []transcript.Mark // of each choice
	refused []Token           // all of them; marks are parts of it
	done    bool
	broken  *BrokenError // why there is no proposer any more

	stats transcript.Stats
	round Round
	since time.Duration // end of the last draft
}

// Begin starts a generation.
func Begin(v Verifier, p Proposer, o Options) *Generation {
	if o.Clock == nil {
		began := time.Now()
		o.Clock = func() time.Duration { return time.Since(began) }
	}
	meter, _ := p.(Meter)
	return &Generation{o: o, v: v, p: p, meter: meter, policy: o.Policy, done: o.Limit <= 0}
}

// Stats returns the counts and times of all rounds so far.
func (g *Generation) Stats() transcript.Stats { return g.stats }

// Broken returns why the proposer is no longer used; nil if it is.
func (g *Generation) Broken() *BrokenError { return g.broken }

// A BrokenError reports an assistant that could not draft, as one with corrupt weights.
// The choices are the target's, so decoding goes on without it.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the assistant cannot draft: %v; download its files again, or run without it (--assistant none)",
		e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// abandon continues without the proposer.
func (g *Generation) abandon(err error) {
	g.broken = &BrokenError{err}
	g.p, g.policy, g.draft = None{}, nil, g.draft[:0]
}

// Done reports whether the sequence has ended.
func (g *Generation) Done() bool { return g.done }

// Choices returns the choices kept so far. The last one is end-of-text if the sequence
// ended by itself.
func (g *Generation) Choices() []decoder.Choice { return g.choices }

// Marks returns how each choice was made.
func (g *Generation) Marks() []transcript.Mark { return g.marks }

// Round drafts, verifies and commits once.
func (g *Generation) Round(ctx context.Context) error {
	if err := g.propose(ctx); err != nil {
		return err
	}
	choices, err := g.v.Choose(ctx, g.draft)
	if err != nil {
		return err
	}
	if len(choices) != len(g.draft)+1 {
		return fmt.Errorf("assistant: got %d choices for a draft of %d tokens, want one more",
			len(choices), len(g.draft))
	}
	return g.accept(ctx, choices)
}

// propose gets a draft. A round yields the accepted drafts and one token more, so a draft
// must be one shorter than the remaining limit. A proposer that fails is no longer used,
// unless it failed because ctx ended.
func (g *Generation) propose(ctx context.Context) (err error) {
	begin, room := g.o.Clock(), g.o.Limit-len(g.choices)-1
	if g.policy != nil {
		room = min(room, g.policy.Length())
	}
	g.draft = g.draft[:0]
	if room > 0 {
		g.draft, err = g.p.Propose(ctx, g.draft, room)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			g.abandon(err)
		}
		if len(g.draft) > room {
			return fmt.Errorf("assistant: draft of %d tokens, at most %d were asked for", len(g.draft), room)
		}
	}
	g.since = g.o.Clock()
	g.round = Round{First: len(g.choices) == 0, Drafted: len(g.draft), Draft: g.since - begin, Opening: g.charge()}
	return nil
}

// charge adds what the draft took to the statistics, and returns how much of it was to
// prepare for the window.
func (g *Generation) charge() (opening time.Duration) {
	if g.meter == nil {
		return 0
	}
	now := g.meter.Cost()
	opening = now.Opening - g.cost.Opening
	g.cost = now
	g.stats.DraftPasses = transcript.Traffic{Bytes: now.Bytes, Seconds: now.Busy.Seconds()}
	return opening
}

// accept keeps the choices up to and including the first that differs from the draft, but
// none after an end-of-text, and commits them on both sides. If the verifier fails to
// commit, the generation stays as it was.
func (g *Generation) accept(ctx context.Context, choices []decoder.Choice) error {
	same := agree(g.draft, choices)
	choices = choices[:same+1]
	end := slices.IndexFunc(choices, func(c decoder.Choice) bool { return c.Token == g.o.EOT })
	if end >= 0 {
		choices = choices[:end+1]
	}
	g.kept = g.kept[:0]
	for _, c := range choices {
		if c.Token != g.o.EOT {
			g.kept = append(g.kept, c.Token)
		}
	}
	if err := g.v.Commit(ctx, g.kept); err != nil {
		return err
	}
	for i := range choices {
		mark := transcript.Mark{Round: g.stats.Drafts.Rounds, Accepted: i < same}
		if i == same && same < len(g.draft) {
			begin := len(g.refused)
			g.refused = append(g.refused, g.draft[same:]...)
			mark.Refused = g.refused[begin:len(g.refused):len(g.refused)]
		}
		g.marks = append(g.marks, mark)
	}
	g.choices = append(g.choices, choices...)
	g.done = end >= 0 || len(g.choices) >= g.o.Limit
	g.count(min(same, len(choices)), len(choices))
	if err := g.p.Commit(ctx, g.kept); err != nil {
		g.abandon(err)
	}
	return nil
}

// count adds the round to the statistics.
func (g *Generation) count(accepted, kept int) {
	g.round.Accepted, g.round.Kept, g.round.Verify = accepted, kept, g.o.Clock()-g.since
	g.stats.Drafts.Count(g.round.Drafted, accepted, kept)
	g.stats.Seconds.Draft += g.round.Draft.Seconds()
	g.stats.Seconds.Verify += g.round.Verify.Seconds()
	if g.policy != nil {
		g.policy.Observe(g.round)
	}
}

// agree returns the length of the longest prefix of draft that the decoder would have
// chosen itself. len(choices) is len(draft)+1.
func agree(draft []Token, choices []decoder.Choice) int {
	for i, d := range draft {
		if d != choices[i].Token {
			return i
		}
	}
	return len(draft)
}
