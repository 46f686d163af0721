package transcribe

import (
	"context"
	"fmt"

	"verity/audio"
	"verity/tokenizer"
)

// setLanguage settles the language of the clip and how its prompts start. If it
// has to be detected, that is done on first, or on the window at frame 0: not
// where the first span begins, and on a whole window, as in upstream.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "Detecting language".
func (r *reading) setLanguage(ctx context.Context, first *audio.Mel) (err error) {
	if r.t.lang != nil {
		r.language = *r.t.lang
	} else if r.language, err = r.detect(ctx, first); err != nil {
		return fmt.Errorf("detecting the language: %w", err)
	}
	r.start = r.t.startSequence(r.language)
	return nil
}

func (r *reading) detect(ctx context.Context, mel *audio.Mel) (lang tokenizer.Language, err error) {
	own := mel == nil
	if own {
		if mel, err = r.src.Window(ctx, 0); err != nil {
			return lang, err
		}
	}
	w, err := r.hear(ctx, mel)
	if err != nil {
		return lang, err
	}
	if own {
		r.heard = w // likely the first to be decoded
	} else {
		defer w.Close()
	}
	probs, err := w.Languages(ctx)
	if err != nil {
		return lang, err
	}
	known := r.t.model.Tokenizer.Languages()
	if len(probs) != len(known) {
		return lang, fmt.Errorf("got %d probabilities, want %d", len(probs), len(known))
	}
	best := 0
	for i, p := range probs {
		if p > probs[best] {
			best = i
		}
	}
	r.log.Info("language detected", "language", known[best].Code, "probability", probs[best])
	return known[best], nil
}
