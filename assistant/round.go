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
// a [CostReporter].
type Proposer interface {
	// Propose appends to dst at most limit tokens that may follow the committed ones. It
	// may append fewer, or none: the round then yields one token.
	Propose(ctx context.Context, dst []Token, limit int) ([]Token, error)

	// Commit passes on the tokens kept in this round. The proposer's cache must then hold
	// exactly the committed tokens, without rejected drafts.
	Commit(kept []Token)
}

// A CostReporter is a Proposer whose drafts take time and memory. Other proposers are free.
type CostReporter interface {
	// Cost returns the sum over all drafts of the proposer.
	Cost() Cost
}

// A Cost is the memory traffic and time of drafts.
type Cost struct {
	decoder.Traffic               // of the passes
	Opening         time.Duration // time to prepare for the window
	Positions       int           // of the window that it prepared for
	Probs           time.Duration // time to keep probabilities, see ProbProposer
}

// A Verifier is the decoder's side of a round. *decoder.Session implements it.
type Verifier interface {
	// Choose returns the decoder's own choice after each prefix of draft: len(draft)+1
	// choices, the first after the committed tokens. Each follows the logit rules of plain
	// decoding at that position. Those after the first that differs from the draft may be missing.
	Choose(ctx context.Context, draft []Token) ([]decoder.Choice, error)

	// Commit keeps a prefix of the last draft plus one choice. It drops everything else that
	// Choose put in the cache.
	Commit(kept []Token) error

	// End returns the choice after the committed tokens if that can only be end-of-text, so that it needs no pass.
	End() (c decoder.Choice, ended bool)
}

// Options configure Generate.
type Options struct {
	// EOT is the token that ends the sequence.
	EOT Token

	// Limit is the maximum number of tokens to generate, end-of-text included.
	Limit int

	// Policy decides draft lengths. It may remember other sequences. Nil means that the
	// proposer decides.
	Policy Policy

	// Clock returns the time, for timing rounds. Nil means the wall clock.
	Clock func() time.Duration

	// Stop, if not nil, gets each choice in turn. True ends the sequence with that choice.
	Stop func(decoder.Choice) bool

	// Progress, if not nil, is called after every round with the number of tokens so far.
	Progress func(tokens int)
}

// A Result is a generated sequence with statistics of its rounds.
type Result struct {
	// Choices are the verifier's. The last one is end-of-text if the sequence ended by
	// itself.
	Choices []decoder.Choice

	Marks []transcript.TokenOrigin // how each choice was made
	Stats transcript.Stats         // counts and times of all rounds

	// ProposerErr is the error that ended the use of the proposer, such as corrupt weights;
	// nil if there was none. Decoding continues without drafts, and the choices are the same.
	ProposerErr error
}

// Generate decodes one sequence, round after round, until its end or the limit.
func Generate(ctx context.Context, v Verifier, p Proposer, o Options) (Result, error) {
	g := newGeneration(v, p, o)
	for !g.done {
		if err := g.runRound(ctx); err != nil {
			return g.Result, err
		}
		if o.Progress != nil {
			o.Progress(len(g.Choices))
		}
	}
	return g.Result, nil
}

// A generation is the state of Generate.
type generation struct {
	Result
	o        Options
	v        Verifier
	p        Proposer
	meter    CostReporter // p, if its drafts cost anything
	cost     Cost         // of p so far
	draft    []Token
	kept     []Token // in this round, without end-of-text
	refused  []Token // all rejected tokens; Marks refer to parts of it
	done     bool
	round    Round
	draftEnd time.Duration // when the last draft ended
}

func newGeneration(v Verifier, p Proposer, o Options) *generation {
	if o.Clock == nil {
		began := time.Now()
		o.Clock = func() time.Duration { return time.Since(began) }
	}
	meter, _ := p.(CostReporter)
	return &generation{o: o, v: v, p: p, meter: meter, done: o.Limit <= 0}
}

// runRound drafts, verifies and commits once.
func (g *generation) runRound(ctx context.Context) error {
	if err := g.propose(ctx); err != nil {
		return err
	}
	choices, err := g.v.Choose(ctx, g.draft)
	if err != nil {
		return err
	}
	return g.accept(choices)
}

// dropProposer continues without the proposer.
func (g *generation) dropProposer(err error) {
	g.ProposerErr = fmt.Errorf("the assistant cannot draft: %w; download its files again, or run without it", err)
	g.p, g.o.Policy, g.draft = None{}, nil, g.draft[:0]
}

// propose requests a draft. A round yields the accepted drafts and one more token, so a draft
// must be one shorter than the remaining limit. If the proposer fails for any reason but the
// end of ctx, it is not used again.
func (g *generation) propose(ctx context.Context) (err error) {
	begin, room := g.o.Clock(), g.o.Limit-len(g.Choices)-1
	if g.o.Policy != nil {
		room = min(room, g.o.Policy.Length())
	}
	g.draft = g.draft[:0]
	if room > 0 {
		g.draft, err = g.p.Propose(ctx, g.draft, room)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			g.dropProposer(err)
		}
		if len(g.draft) > room {
			return fmt.Errorf("assistant: got a draft of %d tokens, want at most %d", len(g.draft), room)
		}
	}
	g.draftEnd = g.o.Clock()
	g.round = Round{
		First: len(g.Choices) == 0, Drafted: len(g.draft), Draft: g.draftEnd - begin, Opening: g.addCost(),
	}
	return nil
}

// addCost adds the cost of the draft to the statistics, and returns the part of its time that
// prepared for the window.
func (g *generation) addCost() (opening time.Duration) {
	if g.meter == nil {
		return 0
	}
	now := g.meter.Cost()
	opening = now.Opening - g.cost.Opening
	g.Stats.Drafts.Prepared += now.Positions - g.cost.Positions
	g.cost = now
	g.Stats.DraftPasses = transcript.Traffic{Bytes: now.Bytes, Seconds: now.Busy.Seconds()}
	return opening
}

// accept keeps the choices up to and including the first that differs from the draft, but
// none after the end, and commits them on both sides. If the verifier fails to commit,
// the result stays unchanged.
func (g *generation) accept(choices []decoder.Choice) error {
	same := agree(g.draft, choices)
	choices = choices[:same+1]
	end := slices.IndexFunc(choices, func(c decoder.Choice) bool {
		return c.Token == g.o.EOT || g.o.Stop != nil && g.o.Stop(c)
	})
	if end >= 0 {
		choices = choices[:end+1]
	}
	g.kept = g.kept[:0]
	for _, c := range choices {
		if c.Token != g.o.EOT {
			g.kept = append(g.kept, c.Token)
		}
	}
	if err := g.v.Commit(g.kept); err != nil {
		return err
	}
	if end < 0 && len(g.Choices)+len(choices) < g.o.Limit {
		if c, ended := g.v.End(); ended {
			choices, end = append(choices, c), len(choices)
		}
	}
	for i := range choices {
		mark := transcript.TokenOrigin{Round: g.Stats.Drafts.Rounds, Accepted: i < same}
		if i == same && same < len(g.draft) {
			begin := len(g.refused)
			g.refused = append(g.refused, g.draft[same:]...)
			mark.Refused = g.refused[begin:len(g.refused):len(g.refused)]
		}
		g.Marks = append(g.Marks, mark)
	}
	g.Choices = append(g.Choices, choices...)
	g.done = end >= 0 || len(g.Choices) >= g.o.Limit
	g.count(min(same, len(choices)), len(choices))
	g.p.Commit(g.kept)
	return nil
}

// count adds the round to the statistics.
func (g *generation) count(accepted, kept int) {
	g.round.Accepted, g.round.Kept, g.round.Verify = accepted, kept, g.o.Clock()-g.draftEnd
	g.Stats.Drafts.Count(g.round.Drafted, accepted, kept)
	if s, verify := &g.Stats.Seconds, g.round.Verify.Seconds(); g.round.First {
		s.Prefill += verify
	} else {
		g.Stats.Drafts.Time(g.round.Drafted+1, verify)
	}
	g.Stats.Seconds.Draft += g.round.Draft.Seconds()
	g.Stats.Seconds.Opening += g.round.Opening.Seconds()
	g.Stats.Seconds.Verify += g.round.Verify.Seconds()
	if g.o.Policy != nil {
		g.o.Policy.Observe(g.round)
	}
}

// agree returns the length of the longest prefix of draft that equals the decoder's choices.
func agree(draft []Token, choices []decoder.Choice) int {
	for i, d := range draft {
		if d != choices[i].Token {
			return i
		}
	}
	return len(draft)
}
