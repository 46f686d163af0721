package transcribe

import (
	"math"
	"testing"

	"verity/assistant"
	"verity/tokenizer"
	"verity/transcript"
)

// TestProof changes one thing at a time where a transcript does not show it: in
// windows without speech, and in an attempt that is given up.
func TestProof(t *testing.T) {
	tok := multilingual(t)
	up := func(v *float32) { *v = math.Nextafter32(*v, 2) }
	decode := func(change func(d *decodedWindow, hot bool)) *transcript.Transcript {
		return read(t, scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
			d := decodedWindow{assistant.Result{Choices: choices([]tokenizer.Token{tok.TimestampBegin, 300, tok.EOT}, -3)}, 0.9}
			change(&d, o.Sampling.Temperature > 0)
			return d
		}}, 7000, 3000, Options{Strategy: Upstream, Temperatures: []float64{0, 0.4}})
	}
	same := func(*decodedWindow, bool) {}
	want := decode(same)
	if len(want.Segments) != 0 || want.Stats.Silent == 0 || want.Stats.Attempts == 0 {
		t.Fatalf("want nothing but silence, got %d segments of %+v", len(want.Segments), want.Stats)
	}
	if again := decode(same); again.ChoiceHashes != want.ChoiceHashes || want.ChoiceHashes.Tokens == "" {
		t.Errorf("proof %+v, of the same again %+v", want.ChoiceHashes, again.ChoiceHashes)
	}
	for name, tt := range map[string]struct {
		change         func(d *decodedWindow, hot bool)
		tokens, logPro bool // are to differ
	}{
		"a token":                 {func(d *decodedWindow, _ bool) { d.Choices[1].Token++ }, true, false},
		"a token of two":          {func(d *decodedWindow, _ bool) { d.Choices = append(d.Choices[:1:1], d.Choices[2]) }, true, true},
		"a log-probability":       {func(d *decodedWindow, _ bool) { up(&d.Choices[1].LogProb) }, false, true},
		"a no-speech probability": {func(d *decodedWindow, _ bool) { up(&d.noSpeechProb) }, false, true},
	} {
		got := decode(tt.change).ChoiceHashes
		if (got.Tokens != want.ChoiceHashes.Tokens) != tt.tokens || (got.LogProbs != want.ChoiceHashes.LogProbs) != tt.logPro {
			t.Errorf("%s: proof %+v of %+v, want tokens to differ: %v, log-probabilities: %v", name, got, want.ChoiceHashes, tt.tokens, tt.logPro)
		}
	}
}
