package models

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/decoder"
	"verity/encoder"
	"verity/eval/bench"
	"verity/tokenizer"
	"verity/transcribe"
)

// measure times passes of the model, and of its assistant if the flags name one that is a model.
func (i *Properties) measure(ctx context.Context, m *cli.ModelFlags) error {
	if !i.HasEncoder {
		return cli.Usagef("--cost: %s only drafts for another model: name that model, and this one with --assistant", m.Name)
	}
	flags := *m
	if m.Assistant.Name == "auto" {
		flags.Assistant = m.Assistant.Off()
	}
	l, err := flags.Load(ctx, transcribe.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	o := bench.Options{Pool: l.Pool, Stage: 300 * time.Millisecond}
	if i.Passes, i.Spread, err = bench.Passes(ctx, l.Decoder, o); err == nil {
		err = i.measureAssistant(ctx, flags.Assistant.Name, l.Model, o)
	}
	i.PaysFrom = i.breakEvens()
	return err
}

// windowTokens are the tokens of a window that is full of speech.
const windowTokens = 80

// measureAssistant times what the assistant of m, of that name, takes.
func (i *Properties) measureAssistant(ctx context.Context, name string, m *transcribe.Model, o bench.Options) (err error) {
	by, prepares := m.Assistant, m
	if first := m.DraftModel(); first != nil {
		by, prepares = &assistant.Model{Decoder: first.Decoder, Encoder: first.Encoder, EOT: first.Tokenizer.EOT}, first
	}
	if i.Opening, err = opening(ctx, by, prepares); err != nil {
		return err
	}
	step := i.Passes[0].Seconds
	name = filepath.Base(name)
	switch by := by.(type) {
	case *assistant.Model:
		steps, spread, err := bench.Passes(ctx, by.Decoder, o)
		if err != nil {
			return err
		}
		i.Spread = max(i.Spread, spread)
		if prepares != m {
			i.Opening += windowTokens * steps[0].Seconds
			i.assistant = fmt.Sprintf("%s takes %.1f steps to transcribe a window first; drafting from its text is left out", name, i.Opening/step)
			return nil
		}
		i.DraftCost = steps[0].Seconds / step
		i.assistant = fmt.Sprintf("%s takes %.1f steps for a window and %.2f for a drafted token", name, i.Opening/step, i.DraftCost)
	case *ctc.Assistant:
		i.assistant = fmt.Sprintf("%s takes %.1f steps for a window; the search for words in its letters is left out", name, i.Opening/step)
	case *assistant.NGram, *assistant.Bigram:
		i.assistant = name + " looks tokens up, which takes next to no time and is left out"
	}
	return nil
}

// A breakEven is the share of right tokens from which drafts of a length pay, in a window full of speech.
type breakEven struct {
	Length int     `json:"length"` // tokens
	Share  float64 `json:"share"`  // of right tokens, up to the first wrong one; 1 if they never pay
}

func (i *Properties) breakEvens() (all []breakEven) {
	for n := 2; n <= len(i.Passes); n *= 2 {
		t := assistant.Theory{Cost: i.DraftCost, Verify: func(int) float64 { return max(1, i.Passes[n-1].Ratio) }}
		all = append(all, breakEven{n - 1, t.BreakEven(n-1, i.Opening/(windowTokens*i.Passes[0].Seconds))})
	}
	return all
}

// opening returns how long an assistant needs for a window of a model before its first draft, once its weights are in memory.
func opening(ctx context.Context, by assistant.Assistant, m *transcribe.Model) (seconds float64, err error) {
	d := m.Dims
	mel := &audio.Mel{Bins: d.MelBins, Frames: d.WindowFrames(), Data: make([]float32, d.MelBins*d.WindowFrames())}
	mel.Data[d.WindowFrames()-2] = 1 // sound up to the end
	w := assistant.Window{Mel: mel, Features: &encoder.Features{
		Positions: d.AudioPositions, Width: d.AudioWidth, Data: make([]float32, d.AudioPositions*d.AudioWidth)}}
	o := decoder.SessionOptions{Prompt: []tokenizer.Token{m.Tokenizer.SOT}}
	if m.Generation.Multilingual {
		o.Prompt = append(o.Prompt, m.Tokenizer.Languages()[0].Token)
	}
	for range 2 { // the first brings the weights into memory
		drafter := by.Open(w)
		drafter.Begin(o, nil)
		_, err = drafter.Propose(ctx, nil, 1)
		if reporter, ok := drafter.(assistant.CostReporter); ok {
			seconds = reporter.Cost().Opening.Seconds()
		}
		drafter.Close()
	}
	return seconds, err
}
