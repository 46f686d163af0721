package measure

import (
	"cmp"
	"context"
	"sync"

	"verity"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/datasets"
	"verity/transcribe"
	"verity/transcript"
)

// An engine is a model as package eval runs it.
type engine struct {
	transcriber *transcribe.Transcriber
	model       *verity.Model
	drafts      *cli.TextSource
	progress    func(share float64, ended bool) // of a run; nil shows none

	mu     sync.Mutex
	broken string // why the assistant could not draft, the first time
	total  transcript.Stats
}

func newEngine(m *verity.Model, drafts *cli.TextSource) *engine {
	return &engine{transcriber: m.Transcriber(), model: m, drafts: drafts}
}

// transcribe is an eval.Engine. It drafts from the text of the utterance if there is one.
func (e *engine) transcribe(
	ctx context.Context, clip *audio.Clip, u datasets.Utterance,
) (*transcript.Transcript, error) {
	lines, err := e.drafts.Lines(ctx, u.Audio.Path, u.ID, u.Text)
	if err != nil {
		return nil, err
	}
	var w transcribe.Callbacks
	if e.progress != nil {
		w.Estimate = func(done, total float64) { e.progress(done/max(total, 1e-9), false) }
		defer e.progress(1, true)
	}
	t, err := e.transcriber.WithDraft(lines).Transcribe(ctx, clip, w)
	if t == nil {
		return nil, err
	}
	for i, s := range t.Segments {
		t.Segments[i].Runs = s.RunsByRound(e.model.Tokenizer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = cmp.Or(e.broken, t.Stats.Broken)
	e.total.Add(t.Stats)
	return t, err
}
