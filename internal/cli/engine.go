package cli

import (
	"cmp"
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
	broken string           // why the assistant could not draft, the first time
	total  transcript.Stats // since forget
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

// assistantError returns why the assistant could not draft; nil if it always could.
func (e *evalEngine) assistantError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken == "" {
		return nil
	}
	return errors.New(e.broken)
}

// Pieces implements eval.Marker: the text of a segment, cut where a round ends or
// where accepted drafts do. Without any round that accepted or refused something there
// are no pieces.
func (e *evalEngine) Pieces(s transcript.Segment, _ string) (pieces []report.Piece) {
	drafted := func(m transcript.Mark) bool { return len(m.Refused) > 0 }
	if len(s.Marks) != len(s.Tokens) || !slices.Contains(s.Accepted, true) && !slices.ContainsFunc(s.Marks, drafted) {
		return nil
	}
	stream, refused := e.model.Tokenizer.Stream(), ""
	put := func(text string, round int, accepted bool) {
		if n := len(pieces); n > 0 && pieces[n-1].Round == round && pieces[n-1].Accepted == accepted {
			pieces[n-1].Text += text
		} else if text != "" || refused != "" {
			pieces = append(pieces, report.Piece{Text: text, Accepted: accepted, Round: round, Refused: refused})
		}
		refused = ""
	}
	for i, t := range s.Tokens {
		m := s.Marks[i]
		if refused = e.words(m.Refused); e.model.Tokenizer.IsText(t) || refused != "" {
			text := ""
			if e.model.Tokenizer.IsText(t) {
				text = stream.Push(t)
			}
			put(text, m.Round+1, s.Accepted[i])
		}
	}
	if n := len(s.Marks); n > 0 {
		put(stream.Flush(), s.Marks[n-1].Round+1, s.Accepted[n-1])
	}
	return pieces
}

// words is the text of tokens, without special ones.
func (e *evalEngine) words(tokens []tokenizer.Token) string {
	if len(tokens) == 0 {
		return ""
	}
	text := make([]tokenizer.Token, 0, len(tokens))
	for _, t := range tokens {
		if e.model.Tokenizer.IsText(t) {
			text = append(text, t)
		}
	}
	return e.model.Tokenizer.Decode(text)
}
