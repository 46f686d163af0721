package measure

import (
	"cmp"
	"context"
	"sync"
	"time"

	"verity/audio"
	"verity/datasets"
	"verity/internal/setup"
	"verity/transcribe"
	"verity/transcript"
)

// An evalEngine is a model as package eval runs it: an eval.Engine, eval.Marker and
// eval.Clock.
type evalEngine struct {
	transcriber *transcribe.Transcriber
	model       *transcribe.Model
	drafts      *setup.DraftSource

	mu     sync.Mutex
	broken string           // why the assistant could not draft, the first time
	total  transcript.Stats // since forget
}

func newEvalEngine(m *transcribe.Model, o transcribe.Options) (*evalEngine, error) {
	o.MarkAccepted = true
	t, err := transcribe.New(m, o)
	if err != nil {
		return nil, setup.InFlag(err)
	}
	return &evalEngine{transcriber: t, model: m}, nil
}

// Decoding implements eval.Clock.
func (e *evalEngine) Decoding() time.Duration { return e.model.DecodeTime() }

// TranscribeOf implements eval.Knower: what is written of the utterance drafts.
func (e *evalEngine) TranscribeOf(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error) {
	lines, err := e.drafts.Lines(ctx, u.Audio.Path, u.ID, u.Text)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, clip, e.transcriber.Drafting(lines))
}

// Transcribe implements eval.Engine.
func (e *evalEngine) Transcribe(ctx context.Context, clip *audio.Clip) (*transcript.Transcript, error) {
	return e.run(ctx, clip, e.transcriber)
}

func (e *evalEngine) run(ctx context.Context, clip *audio.Clip, with *transcribe.Transcriber) (*transcript.Transcript, error) {
	t, err := with.Transcribe(ctx, clip, transcribe.Watch{})
	if t != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.broken = cmp.Or(e.broken, t.Stats.Broken)
		e.total.Add(t.Stats)
	}
	return t, err
}

// forget resets the sum of the work.
func (e *evalEngine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total = transcript.Stats{}
}

// sum is all work since forget.
func (e *evalEngine) sum() transcript.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.total
}

// Rounds implements eval.Marker.
func (e *evalEngine) Rounds(s transcript.Segment) []transcript.Piece {
	return s.Rounds(e.model.Tokenizer)
}
