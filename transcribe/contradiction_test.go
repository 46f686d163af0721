package transcribe

import (
	"maps"
	"strings"
	"testing"

	"verity/model"
	"verity/model/digits"
	"verity/tokenizer"
)

func TestContradictions(t *testing.T) {
	c, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why    string
		change func(g *model.Generation, tok *tokenizer.Tokenizer, vocab *int)
		fatal  bool
		want   string // in the error or the one warning; empty if all is well
	}{
		{"as it is", func(*model.Generation, *tokenizer.Tokenizer, *int) {}, false, ""},
		{"nothing stated", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) {
			g.EOSToken, g.DecoderStartToken, g.NoTimestampsToken, g.PrevSOTToken = -1, -1, -1, -1
		}, false, ""},
		{"another end", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) { g.EOSToken++ }, true, "eos_token_id is"},
		{"begin and end swapped", func(_ *model.Generation, tok *tokenizer.Tokenizer, _ *int) {
			tok.EOT, tok.SOT = tok.SOT, tok.EOT
		}, true, "eos_token_id is"},
		{"another start", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) { g.DecoderStartToken++ }, true, "decoder_start_token_id is"},
		{"timestamps", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) { g.NoTimestampsToken++ }, false, "no_timestamps_token_id is"},
		{"previous text", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) { g.PrevSOTToken = 1 }, false, "prev_sot_token_id is"},
		{"a language elsewhere", func(g *model.Generation, _ *tokenizer.Tokenizer, _ *int) {
			g.LangToID = maps.Clone(g.LangToID)
			g.LangToID["<|en|>"]++
		}, false, "lang_to_id <|en|> is"},
		{"not multilingual, it says", func(g *model.Generation, _ *tokenizer.Tokenizer, vocab *int) {
			g.Multilingual, *vocab = false, 51865
		}, false, "is_multilingual is false"},
		{"multilingual, it says", func(g *model.Generation, _ *tokenizer.Tokenizer, vocab *int) {
			g.Multilingual, *vocab = true, 51864
		}, false, "is_multilingual is true"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			g, other, vocab := c.Generation, *tok, c.Dims.Vocab
			tt.change(&g, &other, &vocab)
			warnings, err := contradictions("digits", &other, g, vocab)
			got := strings.Join(warnings, "\n")
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != tt.fatal || !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || len(warnings) > 1 {
				t.Errorf("error %v, %d warnings: %q, want %q", err, len(warnings), got, tt.want)
			}
		})
	}
}
