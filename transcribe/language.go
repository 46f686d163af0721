package transcribe

import (
	"context"
	"fmt"

	"verity/audio"
	"verity/tokenizer"
)

// setLanguage fixes the language of the clip and with it the start of its prompts.
// Detection uses the window at frame 0, as upstream does, even if the first span
// begins later.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "Detecting language".
func (r *transcription) setLanguage(ctx context.Context) (err error) {
	if r.t.lang != nil {
		r.language = *r.t.lang
	} else if r.language, err = r.detect(ctx); err != nil {
		return fmt.Errorf("detecting the language: %w", err)
	}
	r.start = r.t.startSequence(r.language)
	return nil
}

func (r *transcription) detect(ctx context.Context) (lang tokenizer.Language, err error) {
	// Upstream detects with silence behind the audio, whatever its decoding sees there.
	mel, err := r.src.SilentWindow(ctx, 0)
	if err != nil {
		return lang, err
	}
	w, err := r.encode(ctx, mel)
	if err != nil {
		return lang, err
	}
	if r.t.opt.Pad == audio.PadAudio {
		r.first = w // likely the first to be decoded
	} else {
		defer w.close()
	}
	probs, err := w.languages(ctx)
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
	r.languageProb = float64(probs[best])
	r.log.Info("language detected", "language", known[best].Code, "probability", probs[best])
	return known[best], nil
}
