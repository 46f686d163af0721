package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"verity/audio"
	"verity/report"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// An evalEngine is a model as package eval runs it: an eval.Engine, eval.Marker and
// eval.Clock.
type evalEngine struct {
	transcriber *transcribe.Transcriber
	model       *transcribe.Model

	mu     sync.Mutex
	broken string // why the assistant could not draft, the first time
}

func newEvalEngine(m *transcribe.Model, o transcribe.Options) (*evalEngine, error) {
	o.MarkAccepted = true
	t, err := transcribe.New(m, o)
	if err != nil {
		return nil, inFlag(err)
	}
	return &evalEngine{transcriber: t, model: m}, nil
}

// Decoding implements eval.Clock.
func (e *evalEngine) Decoding() time.Duration { return e.model.DecodeTime() }

// Transcribe implements eval.Engine.
func (e *evalEngine) Transcribe(ctx context.Context, clip *audio.Clip) (*transcript.Transcript, error) {
	t, err := e.transcriber.Transcribe(ctx, clip, transcribe.Watch{})
	if t != nil && t.Stats.Broken != "" {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.broken == "" {
			e.broken = t.Stats.Broken
		}
	}
	return t, err
}

// assistantError returns why the assistant could not draft; nil if it always could.
func (e *evalEngine) assistantError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken == "" {
		return nil
	}
	return errors.New(e.broken)
}

// Pieces implements eval.Marker: a word is accepted if all its tokens were accepted
// drafts. Without any there are no pieces.
func (e *evalEngine) Pieces(s transcript.Segment, language string) (pieces []report.Piece) {
	if !slices.Contains(s.Accepted, true) {
		return nil
	}
	var text []tokenizer.Token
	var accepted []bool
	for i, t := range s.Tokens {
		if e.model.Tokenizer.IsText(t) {
			text, accepted = append(text, t), append(accepted, s.Accepted[i])
		}
	}
	words, groups := e.model.Tokenizer.SplitToWords(text, language)
	for i, w := range words {
		n := len(groups[i])
		pieces = append(pieces, report.Piece{Text: w, Accepted: !slices.Contains(accepted[:n], false)})
		accepted = accepted[n:]
	}
	return pieces
}
