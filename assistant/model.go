package assistant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
)

// A Window is the input of an assistant: the target's features, and the log-mel they were
// made of.
type Window struct {
	Features *encoder.Features
	Mel      *audio.Mel
}

// An Assistant makes proposers. It holds weights; a Listener holds one window.
type Assistant interface {
	// Listen prepares for a window. It may postpone any work until the first draft, so
	// that a window without drafts costs nothing.
	Listen(w Window) Listener

	// StepBytes returns the bytes read to draft a token, 0 if next to nothing.
	StepBytes() int64

	// ReadsStates reports whether the target's sessions must keep their states for it.
	ReadsStates() bool
}

// A Listener makes a proposer for each attempt at its window.
type Listener interface {
	// Begin returns a proposer for the session that o describes.
	Begin(o decoder.SessionOptions, p Policy) Proposer

	// Close returns the memory of the window.
	Close()
}

// Off is the Assistant of plain decoding.
type Off struct{}

// Listen has nothing to prepare.
func (Off) Listen(Window) Listener { return Off{} }

// StepBytes returns 0.
func (Off) StepBytes() int64 { return 0 }

// ReadsStates returns false.
func (Off) ReadsStates() bool { return false }

// Begin returns None.
func (Off) Begin(decoder.SessionOptions, Policy) Proposer { return None{} }

// Close has nothing to release.
func (Off) Close() {}

// A Model is an Assistant with a decoder of its own.
type Model struct {
	// Name names the assistant in errors.
	Name string

	Decoder *decoder.Decoder

	// Encoder makes the features that Decoder attends to. Nil means it shares the
	// target's, as a distilled decoder does, or the target in a cheaper precision.
	Encoder *encoder.Encoder

	// EOT is end-of-text; a draft goes no further.
	EOT Token

	encoding sync.Mutex
}

// StepBytes returns the bytes that a step of Decoder reads.
func (m *Model) StepBytes() int64 { return m.Decoder.StepBytes(0) }

// ReadsStates reports whether the decoder was trained on its target's states.
func (m *Model) ReadsStates() bool { return m.Decoder.ReadsStates() }

// Listen postpones encoding until the first draft.
func (m *Model) Listen(w Window) Listener { return &modelListener{m: m, w: w} }

// A modelListener holds the assistant's own cross-attention keys and values.
type modelListener struct {
	m     *Model
	w     Window
	cross *decoder.Cross
	took  time.Duration // to make them
	open  []*decoder.Session
}

// encode computes the assistant's cross-attention keys and values, once. Windows are
// encoded one after another, so that each is timed by itself.
func (l *modelListener) encode(ctx context.Context) (_ *decoder.Cross, err error) {
	if l.cross != nil {
		l.took = 0
		return l.cross, nil
	}
	l.m.encoding.Lock()
	defer l.m.encoding.Unlock()
	defer func(began time.Time) { l.took = time.Since(began) }(time.Now())
	f := l.w.Features
	if l.m.Encoder != nil {
		if f, err = l.m.Encoder.Encode(ctx, l.w.Mel); err != nil {
			return nil, err
		}
	}
	l.cross, err = l.m.Decoder.Cross(ctx, f)
	return l.cross, err
}

// Begin makes a proposer. It shares its steps with the others that draft in the same
// batch.
func (l *modelListener) Begin(o decoder.SessionOptions, p Policy) Proposer {
	o.NoSpeech = -1
	if o.Stepper != nil {
		o.Stepper = o.Stepper.Beside(l.m.Decoder)
	}
	return &modelProposer{l: l, o: o, known: slices.Clone(o.Prompt), policy: p}
}

func (l *modelListener) Close() {
	for _, s := range l.open {
		s.Close()
	}
	l.open = nil
	if l.cross != nil {
		l.cross.Close()
		l.cross = nil
	}
}

// A modelProposer drafts the tokens its own session would choose, under the same
// rules and with the same noise as the target, keyed to absolute position.
type modelProposer struct {
	l           *modelListener
	o           decoder.SessionOptions
	session     *decoder.Session
	known       []Token     // prompt and committed
	base        int         // how many of known the session certainly has
	policy      Policy      // whether to go on after each token; nil: always
	keeps       bool        // probabilities
	temperature float32     // of the probabilities
	probs       [][]float32 // of the tokens of the last draft
}

// KeepProbs makes the proposer keep its probabilities at a temperature.
func (p *modelProposer) KeepProbs(temperature float32) { p.keeps, p.temperature = true, temperature }

// Probs returns the probabilities at position i of the last draft.
func (p *modelProposer) Probs(i int) []float32 { return p.probs[i] }

// remember keeps the probabilities of the token just chosen, the nth of its draft.
func (p *modelProposer) remember(n int) {
	if !p.keeps {
		return
	}
	if len(p.probs) < n {
		p.probs = append(p.probs, nil)
	}
	p.probs[n-1] = p.session.AppendProbs(p.probs[n-1][:0], 0, p.temperature)
}

// Propose drafts. An error names the assistant.
func (p *modelProposer) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	dst, err := p.propose(ctx, dst, limit)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.l.m.Name, err)
	}
	return dst, err
}

func (p *modelProposer) propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	if limit <= 0 || p.room() <= 0 {
		return dst, nil
	}
	if err := p.catchUp(ctx); err != nil {
		return dst, err
	}
	for n := 1; n <= min(limit, p.room()); n++ {
		choices, err := p.session.Choose(ctx, nil)
		if errors.Is(err, decoder.ErrForbidden) { // by a shortlist, or at a position that the target does not reach
			break
		}
		if err != nil {
			return dst, err
		}
		c := choices[0]
		dst = append(dst, c.Token)
		p.remember(n)
		if c.Token == p.l.m.EOT || p.policy != nil && !p.policy.More(n, c.LogProb) {
			break
		}
		if err := p.session.Commit(ctx, dst[len(dst)-1:]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Traffic returns the bytes that drafting read, and the time of its passes.
func (p *modelProposer) Traffic() (t decoder.Traffic) {
	if p.session != nil {
		t = p.session.Traffic()
	}
	return t
}

// room returns how many tokens fit the assistant's own position table.
func (p *modelProposer) room() int { return p.l.m.Decoder.Dims().TextPositions - len(p.known) }

// catchUp makes the session hold exactly the committed tokens.
func (p *modelProposer) catchUp(ctx context.Context) (err error) {
	if p.session == nil {
		cross, err := p.l.encode(ctx)
		if err != nil {
			return err
		}
		if p.policy != nil {
			p.policy.Opened(p.l.took)
		}
		if p.session, err = p.l.m.Decoder.NewSession(cross, p.o); err != nil {
			return err
		}
		p.l.open = append(p.l.open, p.session)
		p.base = len(p.o.Prompt)
	}
	p.session.Rewrite(p.base, p.known[p.base:])
	p.base = len(p.known)
	return nil
}

// Commit records the tokens; the session follows when it drafts again.
func (p *modelProposer) Commit(_ context.Context, kept []Token) error {
	p.known = append(p.known, kept...)
	return nil
}
