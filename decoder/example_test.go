package decoder_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/model"
	"verity/model/digits"
	"verity/tokenizer"
)

// Greedy decoding of one window, step by step. Package transcribe does this with prompts,
// thresholds and any length of audio.
func ExampleDecoder_NewSession() {
	ctx := context.Background()
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if err != nil {
		log.Fatal(err)
	}
	enc, err := encoder.New(c, encoder.Options{})
	if err != nil {
		log.Fatal(err)
	}
	dec, err := decoder.New(c, decoder.Options{})
	if err != nil {
		log.Fatal(err)
	}
	features, err := enc.Encode(ctx, firstWindow(ctx, c), nil)
	if err != nil {
		log.Fatal(err)
	}
	cross, err := dec.Cross(ctx, features, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer cross.Close()
	english, _ := tok.Language("en")
	s, err := dec.NewSession(cross, decoder.SessionOptions{
		Prompt:   []tokenizer.Token{tok.SOT, english.Token, tok.Transcribe},
		NoSpeech: tokenizer.None,
		Rules:    decoder.Rules(tok, c.Generation, decoder.RuleOptions{}),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var text []tokenizer.Token
	for range s.Limit() {
		choices, err := s.Choose(ctx, nil) // no draft: one choice
		if err != nil {
			log.Fatal(err)
		}
		t := choices[0].Token
		if t == tok.EOT {
			break
		}
		text = append(text, t)
		if err := s.Commit([]tokenizer.Token{t}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(tok.DecodeWithTimestamps(text))
	// Output: <|0.10|> one<|0.60|><|1.20|> nine seven<|2.80|><|3.50|> six<|4.00|><|4.30|> eight<|5.20|><|5.60|> three<|6.00|><|6.60|> five seven<|7.90|>
}

func firstWindow(ctx context.Context, c *model.Checkpoint) *audio.Mel {
	clip, err := audio.Input{}.OpenReader(ctx, "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	s, err := audio.NewSpectrogram(ctx, clip, audio.Options{Bins: c.Dims.MelBins, Window: c.Dims.WindowFrames()})
	if err != nil {
		log.Fatal(err)
	}
	mel, err := s.Window(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	return mel
}
