package transcribe

import (
	"math"
	"slices"
	"strings"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

func multilingual(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// said returns a decodedWindow with text between timestamps in steps of 0.02 s, with
// the same log-probability for every token.
func said(tok *tokenizer.Tokenizer, start int, text string, end int, logProb, noSpeech float32) decodedWindow {
	tokens := slices.Concat(
		[]tokenizer.Token{tok.TimestampBegin + tokenizer.Token(start)},
		tok.Encode(text),
		[]tokenizer.Token{tok.TimestampBegin + tokenizer.Token(end), tok.EOT})
	return decodedWindow{assistant.Result{Choices: choices(tokens, logProb)}, noSpeech}
}

func choices(tokens []tokenizer.Token, logProb float32) (out []decoder.Choice) {
	for _, t := range tokens {
		out = append(out, decoder.Choice{Token: t, LogProb: logProb})
	}
	return out
}

// read transcribes a ramp with a script.
func read(t *testing.T, s scripted, frames, window int, o Options) *transcript.Transcript {
	t.Helper()
	if o.Language == "" {
		o.Language = "en"
	}
	r := transcribed(t, s, frames, window, o)
	return r.transcript()
}

// TestGates makes every gate fire, and turns every one off.
func TestGates(t *testing.T) {
	tok := multilingual(t)
	loop := strings.Repeat(" Thank you.", 30)
	inf := math.Inf(1)
	tests := []struct {
		name             string
		text             string
		logProb          float32
		noSpeech         float32
		opt              Options
		attempts, silent int
		why              string
	}{
		{"pass", " Hello.", -0.5, 0.1, Options{}, 1, 0, "nothing is wrong"},
		{"repetitive", loop, -0.5, 0.1, Options{}, 6, 0, "zlib shrinks it tenfold: all six temperatures are tried"},
		{"repetitive off", loop, -0.5, 0.1, Options{MaxCompressionRatio: inf}, 1, 0, "the gate can be turned off"},
		{"unlikely", " Hello.", -1.5, 0.1, Options{}, 6, 0, "below -1"},
		{"unlikely off", " Hello.", -1.5, 0.1, Options{MinLogProb: -inf}, 1, 0, "the gate can be turned off"},
		{"silent", " Hello.", -1.5, 0.7, Options{}, 1, 1, "no speech excuses the low probability, then skips the window"},
		{"likely", " Hello.", -0.5, 0.7, Options{}, 1, 0, "text this likely is speech whatever the token says"},
		{"silent off", " Hello.", -1.5, 0.7, Options{MaxNoSpeech: inf}, 6, 0, "then the low probability counts"},
		{"silent, repetitive", loop, -1.5, 0.7, Options{}, 1, 1, "no speech excuses repetition too"},
		{"silent without log-probability", " Hello.", -0.5, 0.7, Options{MinLogProb: -inf}, 1, 1,
			"with that gate off nothing speaks against silence: -Inf must not pass for a low threshold"},
		{"exactly at the thresholds", " Hello.", -1, 0.6, Options{MaxNoSpeech: float64(float32(0.6))}, 1, 0, "all three are strict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
				return said(tok, 0, tt.text, 100, tt.logProb, tt.noSpeech)
			}}
			tt.opt.Strategy = Upstream
			got := read(t, s, 3000, 3000, tt.opt)
			if got.Stats.Attempts != tt.attempts || got.Stats.Silent != tt.silent {
				t.Errorf("%d attempts, %d silent; want %d, %d (%s)", got.Stats.Attempts, got.Stats.Silent, tt.attempts, tt.silent, tt.why)
			}
			if n := len(got.Segments); n != 1-tt.silent {
				t.Errorf("%d segments", n)
			}
		})
	}
}

// TestFallback checks that the ladder ends at the first temperature that passes,
// that each attempt has its own noise, and that the last one stands if none does.
func TestFallback(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		passes float32 // lowest temperature that does
		want   float64
	}{{0, 0}, {0.4, 0.4}, {2, 1}} {
		var seen []decoder.Sampling
		s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
			seen = append(seen, o.Sampling)
			if o.Sampling.Temperature >= tt.passes {
				return said(tok, 0, " Hello.", 100, -0.5, 0)
			}
			return said(tok, 0, " Hello.", 100, -1.5, 0)
		}}
		got := read(t, s, 3000, 3000, Options{Seed: 5, Strategy: Upstream})
		if got.Segments[0].Temperature != tt.want {
			t.Errorf("passes from %v on: temperature %v, want %v", tt.passes, got.Segments[0].Temperature, tt.want)
		}
		for i, k := range seen {
			if k.Attempt != i || k.Seed != 5 || k.Audio != 7 || k.Window != 0 {
				t.Errorf("attempt %d samples by %+v", i, k)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	tok := multilingual(t)
	word := tok.Encode(" seven")[0]
	tests := []struct {
		name    string
		choices []decoder.Choice
		tokens  int
		logProb float64
		why     string
	}{
		{"nothing", nil, 0, 0, "0/1"},
		{"only the end", choices([]tokenizer.Token{tok.EOT}, -0.5), 0, -0.5, "end-of-text counts"},
		{"ended", choices([]tokenizer.Token{word, word, word, tok.EOT}, -1), 3, -1, "four choices over four"},
		{"cut off", choices([]tokenizer.Token{word, word, word}, -1), 3, -0.75, "three choices over four, as upstream"},
	}
	for _, tt := range tests {
		r := newAttempt(tok, decodedWindow{Result: assistant.Result{Choices: tt.choices}}, 0)
		if len(r.tokens) != tt.tokens || r.logProb != tt.logProb {
			t.Errorf("%s: %d tokens of %v, want %d of %v (%s)", tt.name, len(r.tokens), r.logProb, tt.tokens, tt.logProb, tt.why)
		}
	}
}

// TestSaidRepeatedly tells a refrain from a loop of the model, over sound of a few utterances.
func TestSaidRepeatedly(t *testing.T) {
	tok := multilingual(t)
	pcm, err := openSound(t, "../model/base/jfk.flac").Samples(11 * audio.SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	refrain := strings.Repeat(" Ask what you can do.", 5)
	for _, tt := range []struct {
		why       string
		text      string
		end       int // steps of 0.02 s
		logProb   float32
		pcm       []float32
		unlimited bool // no end-of-text
		want      bool
	}{
		{"a refrain", refrain, 550, -0.2, pcm, false, true},
		{"said more often than anybody speaks", strings.Repeat(refrain, 6), 550, -0.2, pcm, false, false},
		{"unlikely", refrain, 550, -0.9, pcm, false, false},
		{"it covers the beginning alone", refrain, 200, -0.2, pcm, false, false},
		{"without an end", refrain, 550, -0.2, pcm, true, false},
		{"nobody speaks", refrain, 550, -0.2, make([]float32, len(pcm)), false, false},
	} {
		d := said(tok, 0, tt.text, tt.end, tt.logProb, 0)
		if tt.unlimited {
			d.Choices = d.Choices[:len(d.Choices)-1]
		}
		r := &transcription{t: &Transcriber{opt: Options{}.WithDefaults(), model: &Model{Tokenizer: tok}}, src: spokenRamp{pcm: tt.pcm}}
		got, err := r.saidRepeatedly(t.Context(), &window{size: 1100}, newAttempt(tok, d, 0))
		if got != tt.want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", tt.why, got, err, tt.want)
		}
	}
}
