package transcribe

import (
	"fmt"
	"slices"

	"verity/model"
	"verity/tokenizer"
)

// contradictions compares what the files of a checkpoint say about the same tokens. A
// start or end token that differs from the one the model was trained with makes the
// text nonsense, so that is an error. Any other difference is a warning.
func contradictions(
	name string, tok *tokenizer.Tokenizer, g model.Generation, vocab int,
) (warnings []string, err error) {
	for _, t := range []struct {
		field, token string
		stated       int32
		have         tokenizer.Token
		fatal        bool
	}{
		{"eos_token_id", "<|endoftext|>", g.EOSToken, tok.EOT, true},
		{"decoder_start_token_id", "<|startoftranscript|>", g.DecoderStartToken, tok.SOT, true},
		{"no_timestamps_token_id", "<|notimestamps|>", g.NoTimestampsToken, tok.NoTimestamps, false},
		{"prev_sot_token_id", "<|startofprev|>", g.PrevSOTToken, tok.SOTPrev, false},
	} {
		if t.stated == model.NoToken || t.have == tokenizer.None || tokenizer.Token(t.stated) == t.have {
			continue
		}
		text := fmt.Sprintf("%s: %s is %d, but the tokenizer has %s at %d: are the files of one model?",
			name, t.field, t.stated, t.token, t.have)
		if t.fatal {
			return nil, fmt.Errorf("%s Take the configuration and the tokenizer from the same place", text)
		}
		warnings = append(warnings, text+" The tokenizer's is used")
	}
	if text := otherLanguage(tok, g); text != "" {
		warnings = append(warnings, name+": "+text)
	}
	// The published vocabularies: with one more token, multilingual ones have <|yue|>.
	const english, multilingual = 51864, 51865
	switch {
	case g.Multilingual && vocab == english:
		warnings = append(warnings, fmt.Sprintf("%s: is_multilingual is true, but %d tokens are those of an English-only model",
			name, vocab))
	case !g.Multilingual && (vocab == multilingual || vocab == multilingual+1):
		warnings = append(warnings, fmt.Sprintf("%s: is_multilingual is false, but %d tokens are those of a multilingual model: "+
			"no language is detected", name, vocab))
	}
	return warnings, nil
}

// otherLanguage returns the first language whose token differs between the files.
func otherLanguage(tok *tokenizer.Tokenizer, g model.Generation) string {
	var wrong []string
	for _, l := range tok.Languages() {
		mark := "<|" + l.Code + "|>"
		if id, stated := g.LangToID[mark]; stated && tokenizer.Token(id) != l.Token {
			wrong = append(wrong, fmt.Sprintf("lang_to_id has %s at %d, but the tokenizer at %d", mark, id, l.Token))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.Sort(wrong)
	return fmt.Sprintf("%s (%d languages differ). The tokenizer's are used", wrong[0], len(wrong))
}
