package assistant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"verity/decoder"
	"verity/decoder/schedule"
	"verity/encoder"
)

// A Model is an Assistant with a decoder of its own.
type Model struct {
	// Name is the assistant's name in errors.
	Name string

	Decoder *decoder.Decoder

	// Encoder computes the features that Decoder attends to. Nil means that it shares the
	// target's, as a distilled decoder does, or the target itself in a cheaper precision.
	Encoder *encoder.Encoder

	// EOT is end-of-text. It ends a draft.
	EOT Token

	encoding sync.Mutex
}

// StepBytes returns the bytes that a step of Decoder reads.
func (m *Model) StepBytes() int64 { return m.Decoder.StepBytes(0) }

// Open postpones encoding until the first draft.
func (m *Model) Open(w Window) Drafter { return &modelDrafter{m: m, w: w} }

// A modelDrafter drafts the tokens its own session would choose, under the same rules and
// with the same noise as the target: the noise depends on the position alone.
type modelDrafter struct {
	m           *Model
	w           Window
	cross       *decoder.Cross // nil until the first draft
	cost        Cost           // of this attempt, without the traffic of session
	o           decoder.SessionOptions
	session     *decoder.Session // nil until the first draft of an attempt
	tokens      []Token          // prompt and committed
	policy      Policy           // decides whether to continue after each token; nil: always
	keepsProbs  bool             // keep the probabilities of drafts
	temperature float32          // of these probabilities
	probs       [][]float32      // of the tokens of the last draft
}

// Begin closes the session of the previous attempt. The next one shares its steps with the
// other drafters of the batch.
func (p *modelDrafter) Begin(o decoder.SessionOptions, policy Policy) {
	p.closeSession()
	o.NoSpeech = -1
	if m, shared := o.Runner.(*schedule.Member); shared {
		o.Runner = m.ForDecoder(p.m.Decoder)
	} else {
		o.Runner = nil
	}
	p.o, p.policy, p.keepsProbs, p.cost = o, policy, false, Cost{}
	p.tokens = append(p.tokens[:0], o.Prompt...)
}

func (p *modelDrafter) closeSession() {
	if p.session != nil {
		p.session.Close()
		p.session = nil
	}
}

func (p *modelDrafter) Close() {
	p.closeSession()
	if p.cross != nil {
		p.cross.Close()
		p.cross = nil
	}
}

// KeepProbs makes the proposer keep the probabilities of its drafts, at a temperature.
func (p *modelDrafter) KeepProbs(temperature float32) {
	p.keepsProbs, p.temperature = true, temperature
}

// Probs returns the probabilities at position i of the last draft.
func (p *modelDrafter) Probs(i int) []float32 { return p.probs[i] }

// storeProbs keeps the probabilities of the nth token of a draft, which was just chosen.
func (p *modelDrafter) storeProbs(n int) {
	if !p.keepsProbs {
		return
	}
	if len(p.probs) < n {
		p.probs = append(p.probs, nil)
	}
	began := time.Now()
	p.probs[n-1] = p.session.AppendProbs(p.probs[n-1][:0], 0, p.temperature)
	p.cost.Probs += time.Since(began)
}

// Propose drafts tokens. An error names the assistant.
func (p *modelDrafter) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	dst, err := p.propose(ctx, dst, limit)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.m.Name, err)
	}
	return dst, err
}

func (p *modelDrafter) propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	if limit <= 0 || p.positionsLeft() <= 0 {
		return dst, nil
	}
	if err := p.catchUp(ctx); err != nil {
		return dst, err
	}
	for n := 1; n <= min(limit, p.positionsLeft()); n++ {
		choices, err := p.session.Choose(ctx, nil)
		if errors.Is(err, decoder.ErrForbidden) { // at a position that the target does not reach
			break
		}
		if err != nil {
			return dst, err
		}
		c := choices[0]
		dst = append(dst, c.Token)
		p.storeProbs(n)
		if c.Token == p.m.EOT || p.policy != nil && !p.policy.More(n, c.LogProb) {
			break
		}
		if err := p.session.Commit(dst[len(dst)-1:]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Cost returns the time and memory traffic of this attempt's drafts.
func (p *modelDrafter) Cost() Cost {
	c := p.cost
	if p.session != nil {
		c.Traffic = p.session.Traffic()
	}
	return c
}

// positionsLeft returns how many more tokens fit the assistant's own position table.
func (p *modelDrafter) positionsLeft() int { return p.m.Decoder.Dims().TextPositions - len(p.tokens) }

// encode computes the assistant's cross-attention keys and values. Windows are encoded one
// after another, so that each is timed alone.
func (p *modelDrafter) encode(ctx context.Context) (err error) {
	p.m.encoding.Lock()
	defer p.m.encoding.Unlock()
	defer func(began time.Time) { p.cost.Opening = time.Since(began) }(time.Now())
	f := p.w.Features
	if p.m.Encoder != nil {
		if f, err = p.m.Encoder.Encode(ctx, p.w.Mel, nil); err != nil {
			return err
		}
	}
	p.cost.Positions = f.Positions
	p.cross, err = p.m.Decoder.Cross(ctx, f, nil)
	return err
}

// catchUp makes the session hold exactly the committed tokens.
func (p *modelDrafter) catchUp(ctx context.Context) (err error) {
	if p.cross == nil {
		if err := p.encode(ctx); err != nil {
			return err
		}
	}
	if p.session == nil {
		if p.session, err = p.m.Decoder.NewSession(p.cross, p.o); err != nil {
			return err
		}
	}
	p.session.Rewrite(p.tokens)
	return nil
}

// Commit records the tokens. The session follows at the next draft.
func (p *modelDrafter) Commit(kept []Token) { p.tokens = append(p.tokens, kept...) }
