package decoder

import (
	"context"
	"fmt"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// DetectLanguage returns the probability of each language, in the order of
// langs; they sum to one.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, detect_language.
func (d *Decoder) DetectLanguage(
	ctx context.Context, c *Cross, sot tokenizer.Token, langs []tokenizer.Language,
) ([]float32, error) {
	if len(langs) == 0 {
		return nil, fmt.Errorf("decoder: the model knows no languages to detect")
	}
	s := d.NewStream(c)
	defer s.Close()
	logits := make([]float32, d.dims.Vocab)
	if err := d.Step(ctx, []Row{{Stream: s, Token: sot}}, logits); err != nil {
		return nil, err
	}
	probs := make([]float32, len(langs))
	for i, l := range langs {
		probs[i] = logits[l.Token]
	}
	kernel.Softmax(probs)
	return probs, nil
}
