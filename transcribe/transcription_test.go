package transcribe

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/diarize"
	"verity/tokenizer"
	"verity/transcript"
)

// TestCoverage checks that no frame is passed over in silence: every one is in a
// window that is heard, whatever the model says and however long the clip is.
func TestCoverage(t *testing.T) {
	tok := multilingual(t)
	for _, window := range []int{800, 3000} {
		for _, frames := range []int{1, 2, 3, window - 1, window, window + 1, 2*window - 1, 5*window + 7} {
			for seed := range 20 {
				heard := make([]bool, frames)
				s := scripted{seed: seed, tok: tok, encoded: func(seek, size int) {
					for i := seek; i < seek+size; i++ {
						heard[i] = true
					}
				}}
				got := read(t, s, frames, window, Options{Pad: audio.PadMel})
				if i := slices.Index(heard, false); i >= 0 {
					t.Fatalf("window %d, %d frames, seed %d: frame %d was not heard", window, frames, seed, i)
				}
				if got.Stats.Windows == 0 {
					t.Fatalf("window %d, %d frames, seed %d: no windows", window, frames, seed)
				}
			}
		}
	}
}

// TestStuck makes the timestamps of a window lead nowhere. Upstream never ends
// then.
func TestStuck(t *testing.T) {
	tok := multilingual(t)
	s := scripted{tok: tok, decodeAt: func(int, int, decodeOptions) decodedWindow {
		zero := tok.TimestampBegin
		return decodedWindow{Result: assistant.Result{Choices: choices([]tokenizer.Token{zero, zero, 300, tok.EOT}, -0.5)}}
	}}
	got := read(t, s, 7000, 3000, Options{})
	if got.Stats.Stuck != 3 || got.Stats.Windows != 3 {
		t.Errorf("stuck %d times in %d windows, want 3 in 3", got.Stats.Stuck, got.Stats.Windows)
	}
	if n := len(got.Segments); n != 3 || got.Segments[2].Start != 60 || got.Segments[2].End != 70 || got.Segments[2].Text != tok.Decode([]tokenizer.Token{300}) {
		t.Errorf("%d segments, the last %+v; want the text of every window", n, got.Segments[n-1])
	}
}

func TestEmpty(t *testing.T) {
	got := read(t, scripted{tok: multilingual(t)}, 0, 3000, Options{})
	if got.Text != "" || len(got.Segments) != 0 || got.Stats.Windows != 0 || got.Language != "en" {
		t.Errorf("nothing to hear gave %+v", got)
	}
}

// TestSpans checks what is heard of the parts asked for.
func TestSpans(t *testing.T) {
	type heard struct{ seek, size int }
	tests := []struct {
		name  string
		spans []Span
		want  []heard
		why   string
	}{
		{"all", nil, []heard{{0, 800}, {800, 800}, {1600, 400}}, ""},
		{"part", []Span{{1, 3}}, []heard{{100, 200}}, "shorter than a window"},
		{"parts", []Span{{1, 10}, {12, math.Inf(1)}}, []heard{{100, 800}, {900, 100}, {1200, 800}}, "a part ends inside a window"},
		{"beyond", []Span{{19, 100}}, []heard{{1900, 100}}, "upstream loops for ever"},
		{"outside", []Span{{1, 2}, {50, 100}}, []heard{{100, 100}}, "upstream hears negative lengths"},
		{"empty", []Span{{0.5, 0.5}, {1, 2}}, []heard{{100, 100}}, ""},
		{"half a frame", []Span{{0.005, 0.015}, {0.025, 0.035}}, []heard{{0, 2}, {2, 2}}, "halves round to even"},
	}
	tok := multilingual(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []heard
			s := scripted{tok: tok,
				encoded:  func(seek, size int) { got = append(got, heard{seek, size}) },
				decodeAt: func(int, int, decodeOptions) decodedWindow { return said(tok, 0, " one", 10, -0.5, 0) }}
			read(t, s, 2000, 800, Options{Spans: tt.spans, Pad: audio.PadMel, Strategy: Upstream})
			if !slices.Equal(got, tt.want) {
				t.Errorf("heard %v, want %v %s", got, tt.want, tt.why)
			}
		})
	}
}

// TestPrompts checks what later windows are shown.
func TestPrompts(t *testing.T) {
	tok := multilingual(t)
	en, _ := tok.Language("en")
	start := []tokenizer.Token{tok.SOT, en.Token, tok.Transcribe}
	text := slices.Concat([]tokenizer.Token{tok.TimestampBegin}, tok.Encode(" one"), []tokenizer.Token{tok.TimestampBegin + 10})
	hello := tok.Encode(" Hello there")
	prompt := func(parts ...[]tokenizer.Token) []tokenizer.Token {
		return slices.Concat(append([][]tokenizer.Token{{tok.SOTPrev}}, append(parts, start)...)...)
	}
	tests := []struct {
		name string
		opt  Options
		want [][]tokenizer.Token
		why  string
	}{
		{"plain", Options{}, [][]tokenizer.Token{start, prompt(text), prompt(text, text)}, "nothing before the first window"},
		{"forget", Options{ForgetPrevious: true}, [][]tokenizer.Token{start, start, start}, ""},
		{"hot", Options{Temperatures: []float64{0.6}}, [][]tokenizer.Token{start, start, start}, "text from above 0.5 is not shown"},
		{"warm", Options{Temperatures: []float64{0.5}}, [][]tokenizer.Token{start, prompt(text), prompt(text, text)}, "0.5 itself is"},
		{"initial", Options{InitialPrompt: " Hello there\n"}, [][]tokenizer.Token{prompt(hello), prompt(hello, text), prompt(hello, text, text)}, ""},
		{"initial, forget", Options{InitialPrompt: "Hello there", ForgetPrevious: true}, [][]tokenizer.Token{prompt(hello), start, start}, "it is forgotten too"},
		{"carried, forget", Options{InitialPrompt: "Hello there", ForgetPrevious: true, CarryInitialPrompt: true},
			[][]tokenizer.Token{prompt(hello), prompt(hello), prompt(hello)}, "unless it is carried"},
		{"without timestamps", Options{WithoutTimestamps: true, ForgetPrevious: true}, slices.Repeat([][]tokenizer.Token{append(start[:3:3], tok.NoTimestamps)}, 3), ""},
		{"translate", Options{Task: Translate, ForgetPrevious: true}, slices.Repeat([][]tokenizer.Token{{tok.SOT, en.Token, tok.Translate}}, 3), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got [][]tokenizer.Token
			s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
				if o.Prompt[o.SOT] != tok.SOT {
					t.Errorf("SOT = %d in %v", o.SOT, o.Prompt)
				}
				got = append(got, o.Prompt)
				return said(tok, 0, " one", 10, -0.5, 0)
			}}
			tt.opt.Strategy = Upstream
			read(t, s, 9000, 3000, tt.opt)
			if !slices.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("prompts\n%v, want\n%v %s", got, tt.want, tt.why)
			}
		})
	}
}

func TestEnglishOnly(t *testing.T) {
	tok, err := tokenizer.Embedded(51864)
	if err != nil {
		t.Fatal(err)
	}
	s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
		if !slices.Equal(o.Prompt, []tokenizer.Token{tok.SOT}) {
			t.Errorf("prompt %v, want start-of-transcript alone", o.Prompt)
		}
		return said(tok, 0, " one", 10, -0.5, 0)
	}}
	for _, o := range []Options{{Language: "fr"}, {Task: Translate}} {
		var option *OptionError
		if _, err := newScripted(s, 3000, 448, o); !errors.As(err, &option) {
			t.Errorf("%q, %q: %v, want an OptionError", o.Language, o.Task, err)
		}
	}
	transcribed(t, s, 100, 3000, Options{Language: "English"})
}

// TestWatch checks that segments are told as they come and in order, and that
// progress ends at the end.
func TestWatch(t *testing.T) {
	tr, err := newScripted(scripted{seed: 3, tok: multilingual(t)}, 3000, 448, Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range watchedRun(t, tr, 20000).Segments {
		if s.ID != i {
			t.Errorf("segment %d has id %d", i, s.ID)
		}
	}
}

// TestProgressWithoutWords: progress ends at the end also where speakers are not looked for, since there are no words.
func TestProgressWithoutWords(t *testing.T) {
	tr, last := &Transcriber{model: &Model{}, opt: Options{Speakers: &diarize.Options{}}}, 0.0
	progress := Callbacks{Progress: func(done, _ float64) { last = done }}
	if err := tr.nameSpeakers(t.Context(), nil, &transcript.Transcript{Duration: 8}, progress); err != nil || last != 8 {
		t.Errorf("progress ended at %v of 8, error %v", last, err)
	}
}

// TestInterrupt checks that what was finished is returned with the error.
func TestInterrupt(t *testing.T) {
	tok := multilingual(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	s := scripted{tok: tok, decodeAt: func(int, int, decodeOptions) decodedWindow {
		if n++; n == 2 {
			cancel()
		}
		return said(tok, 0, " one", 10, -0.3, 0)
	}}
	tr, err := newScripted(s, 3000, 448, Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	r := tr.newTranscription("", ramp{20000, 3000}, Callbacks{})
	if err := r.transcribeSpans(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if got := r.transcript(); len(got.Segments) != 2 || got.Text != " one one" {
		t.Errorf("after two windows: %d segments, %q", len(got.Segments), got.Text)
	}
}

func TestOptionErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		field string
		opt   Options
	}{
		{"Language", Options{Language: "tlh"}},
		{"Task", Options{Task: "summarize"}},
		{"Temperatures", Options{Temperatures: []float64{}}},
		{"Temperatures", Options{Temperatures: []float64{0, -1}}},
		{"Temperatures", Options{Temperatures: []float64{nan}}},
		{"Temperatures", Options{Temperatures: []float64{inf}}},
		{"AudioContext", Options{AudioContext: 1501}},
		{"SuppressTokens", Options{SuppressTokens: []tokenizer.Token{-2}}},
		{"SuppressTokens", Options{SuppressTokens: []tokenizer.Token{51865}}},
		{"Spans", Options{Spans: []Span{{3, 2}}}},
		{"Spans", Options{Spans: []Span{{-1, 2}}}},
		{"Spans", Options{Spans: []Span{{0, nan}}}},
		{"Spans", Options{Spans: []Span{{0, 1}, {0.5, math.Inf(1)}}}},
		{"Spans", Options{Spans: []Span{{2, 3}, {0, 1}}}},
		{"Pad", Options{Pad: 7}},
	}
	s := scripted{tok: multilingual(t)}
	for _, tt := range tests {
		_, err := newScripted(s, 3000, 448, tt.opt)
		var option *OptionError
		if !errors.As(err, &option) || option.Option != tt.field {
			t.Errorf("New with a bad %s: %v", tt.field, err)
		}
	}
	for _, ok := range []Options{
		{MaxCompressionRatio: inf, MinLogProb: -inf, MaxNoSpeech: inf, MaxInitialTimestamp: inf},
		{Language: "Mandarin"}, {Language: "EN"}, {SuppressTokens: []tokenizer.Token{-1, 50}},
	} {
		if _, err := newScripted(s, 3000, 448, ok); err != nil {
			t.Errorf("New(%+v): %v", ok, err)
		}
	}
}

// TestLast compares with Python slices.
func TestLast(t *testing.T) {
	x := []int{1, 2, 3, 4}
	for n, want := range map[int][]int{2: {3, 4}, 9: x, 0: x, -1: {2, 3, 4}, -9: {}} {
		if got := tail(x, n); !slices.Equal(got, want) {
			t.Errorf("last(%v, %d) = %v, want %v as Python's x[-%d:]", x, n, got, want, n)
		}
	}
}
