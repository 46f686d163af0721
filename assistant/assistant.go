package assistant

import (
	"context"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
)

// A Window is the input of an assistant: the target's features, and the log-mel that they
// were computed from.
type Window struct {
	Features *encoder.Features
	Mel      *audio.Mel
}

// An Assistant makes a Drafter for each window. It is safe for concurrent use.
type Assistant interface {
	// Open prepares for a window. It may postpone any work until the first draft, so that
	// a window without drafts costs nothing.
	Open(w Window) Drafter

	// StepBytes returns the bytes read to draft a token; 0 if almost none.
	StepBytes() int64
}

// A Drafter is the Proposer of all attempts at one window, one after the other.
type Drafter interface {
	Proposer

	// Begin starts an attempt, for the session that o describes: the committed tokens are
	// o.Prompt again. p, which may be nil, decides whether to continue a draft.
	Begin(o decoder.SessionOptions, p Policy)

	// Close releases the memory of the window. A second call does nothing.
	Close()
}

// None is plain decoding: an Assistant, and its own Drafter, with empty drafts.
type None struct{}

// Open returns n.
func (n None) Open(Window) Drafter { return n }

// StepBytes returns 0.
func (None) StepBytes() int64 { return 0 }

// Begin does nothing.
func (None) Begin(decoder.SessionOptions, Policy) {}

// Propose drafts nothing.
func (None) Propose(_ context.Context, dst []Token, _ int) ([]Token, error) { return dst, nil }

// Commit does nothing.
func (None) Commit([]Token) {}

// Close does nothing.
func (None) Close() {}
