package transcribe

import (
	"fmt"
	"strings"

	"verity/decoder"
	"verity/model"
	"verity/tokenizer"
)

// contradictions compares what the files of a checkpoint say about the same tokens. A
// start or end token that differs from the one the model was trained with makes the
// text nonsense, so that is an error. Any other difference is a warning.
func contradictions(
	name string, tok *tokenizer.Tokenizer, g model.Generation, vocab int,
) (warnings []string, err error) {
	for _, m := range decoder.TokenMismatches(tok, g) {
		text := fmt.Sprintf("%s: %s is %d, but the tokenizer has that token at %d: are the files of one model?",
			name, m.Field, m.Stated, m.Token)
		if strings.HasPrefix(m.Field, "eos") || strings.HasPrefix(m.Field, "decoder_start") {
			return nil, fmt.Errorf("%s Take the configuration and the tokenizer from the same place", text)
		}
		warnings = append(warnings, text+" The tokenizer's is used")
	}
	switch {
	case g.Multilingual && vocab == tokenizer.VocabEnglish:
		warnings = append(warnings, fmt.Sprintf("%s: is_multilingual is true, but %d tokens are those of an English-only model",
			name, vocab))
	case !g.Multilingual && (vocab == tokenizer.VocabMultilingual || vocab == tokenizer.VocabLargeV3):
		warnings = append(warnings, fmt.Sprintf("%s: is_multilingual is false, but %d tokens are those of a multilingual model: "+
			"no language is detected", name, vocab))
	}
	return warnings, nil
}
