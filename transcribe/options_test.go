package transcribe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/audio/vad"
	"verity/tokenizer"
	"verity/transcript"
)

// randomOptions returns options of every kind that an assistant may have to do with.
func randomOptions(rng *rand.Rand) Options {
	maybe := func(set func()) {
		if rng.IntN(3) == 0 {
			set()
		}
	}
	o := Options{Seed: rng.Uint64(), Temperatures: [][]float64{{0}, {0.4}, {1}, {0, 0.6, 1}}[rng.IntN(4)]}
	maybe(func() { o.WithoutTimestamps = true })
	maybe(func() { o.WordTimestamps = true })
	maybe(func() { o.InitialPrompt = "one two three four" })
	maybe(func() { o.CarryInitialPrompt = o.InitialPrompt != "" })
	maybe(func() { o.Prefix = "one" })
	maybe(func() { o.Hotwords = "seven eight" })
	maybe(func() { o.ForgetPrevious = true })
	maybe(func() { o.Repetition.Penalty = 1.3 })
	maybe(func() { o.Repetition.NoRepeat = 3 })
	maybe(func() { o.Repetition.MinTokens = 4 })
	maybe(func() { o.TopK = 5 })
	maybe(func() { o.TopP = 0.7 })
	maybe(func() { o.SuppressExpression = regexp.MustCompile(` ?(one|s.*)`) })
	maybe(func() { o.SuppressTokens = []tokenizer.Token{-1, 20} })
	maybe(func() { o.MaxInitialTimestamp = math.Inf(1) })
	maybe(func() { o.Pad = audio.PadMel })
	maybe(func() { o.AudioContext = []int{WholeWindows, 60, 150, 333}[rng.IntN(4)] })
	maybe(func() { o.MaxCompressionRatio, o.MinLogProb = 1.1, -0.2 })
	maybe(func() { o.MaxNoSpeech = 0.01 })
	switch rng.IntN(4) {
	case 0:
		o.Spans = []Span{{1, 4}, {4.5, 7.5}}
	case 1:
		o.VAD = &vad.Options{}
	}
	maybe(func() { // short windows, or there would be one chunk
		o.Chunked, o.chunks, o.chunkSeconds, o.AudioContext = true, 1+rng.IntN(4), 4, 100
	})
	if o.WordTimestamps {
		maybe(func() { o.HallucinationSilence = 0.5 })
	}
	maybe(func() { o.BestOf = 2 }) // without the assistant above temperature 0
	if o.Seed%2 == 0 {
		o.Terms = []Term{{Text: "nine one", Weight: 3}, {Text: "three", SoundsLike: "one two", Weight: 10}}
	}
	return o
}

// TestOptionsLossless: assisted decoding equals plain decoding, to the bit, under random
// options of every kind. make grid tries two hundred.
func TestOptionsLossless(t *testing.T) {
	n := 5
	if testing.Short() {
		n = 2
	}
	if os.Getenv("VERITY_GRID") == "all" {
		n = 200
	}
	models := demoModels(t, 2)
	rng := rand.New(rand.NewPCG(16, 5))
	drafted := 0
	for i := range n {
		name := []string{"self", "ngram", "demo", "separate", "bigram"}[i%5]
		o, draft := randomOptions(rng), 1+rng.IntN(6)
		clip := func() *audio.Clip { return long(t, 1) }
		want := transcribeClip(t, models["none"], o, clip())
		got := transcribeClip(t, with(models[name], models[name].Assistant, constant(draft)), o, clip())
		drafted += got.Stats.Drafts.Drafted
		if !sameText(got, want) {
			t.Errorf("%d: %s, drafts of %d, %s:\n got %q %v\nwant %q %v", i, name, draft, fmt.Sprintf("%+v", o), got.Text, got.ChoiceHashes, want.Text, want.ChoiceHashes)
		}
	}
	if drafted < 8*n {
		t.Errorf("%d tokens drafted in %d runs: nothing was put to the test", drafted, n)
	}
}

// TestSuppressExpression: tokens that match from end to end are never chosen.
func TestSuppressExpression(t *testing.T) {
	models := demoModels(t, 1)
	free := transcribeClip(t, models["none"], Options{}, long(t, 1))
	o := Options{SuppressExpression: regexp.MustCompile(" ?seven|i")}
	got := transcribeClip(t, models["none"], o, long(t, 1))
	seven := regexp.MustCompile("seven")
	if !seven.MatchString(free.Text) || seven.MatchString(got.Text) || !regexp.MustCompile("six|nine").MatchString(got.Text) {
		t.Errorf("%q without seven is %q", free.Text, got.Text)
	}
	for _, x := range []string{"nothing like it", ".*(?s:.*)"} {
		o := Options{SuppressExpression: regexp.MustCompile(x)}
		if _, err := New(models["none"], o); err == nil {
			t.Errorf("%q was taken", x)
		}
	}
}

// TestMultilingualWindows: with Multilingual each window has the language that is
// likeliest in it, in its prompt and in its segments; else the first window's.
func TestMultilingualWindows(t *testing.T) {
	tok := multilingual(t)
	for _, chunked := range []bool{false, true} {
		for _, each := range []bool{true, false} {
			prompted := make(chan string, 10)
			s := scripted{seed: 3, tok: tok, decodeAt: func(seek, _ int, o decodeOptions) decodedWindow {
				prompted <- fmt.Sprint(seek, tok.DecodeWithTimestamps(o.Prompt[o.SOT+1:o.SOT+2]))
				return scriptedText(tok, 0.0, " one two three", 8.0, 8.0, " four five six", 14.0)
			}}
			r := transcribed(t, s, 4500, 3000, Options{Multilingual: each, Chunked: chunked})
			checkLanguages(t, r.transcript(), each)
			close(prompted)
			said := map[string]bool{}
			for p := range prompted {
				said[p[len(p)-6:]] = true
			}
			if len(said) == 2 != each {
				t.Errorf("each %v, chunked %v: prompts name %v", each, chunked, said)
			}
		}
	}
}

// TestLanguageAmong: of several languages that are allowed the likeliest is chosen, with
// Multilingual in each window; a name that the model does not know is an error that says it.
func TestLanguageAmong(t *testing.T) {
	tok := multilingual(t)
	s := scripted{seed: 3, tok: tok, decodeAt: func(int, int, decodeOptions) decodedWindow {
		return scriptedText(tok, 0.0, " one two three", 8.0, 8.0, " four five six", 14.0)
	}}
	language := func(o Options) string {
		r := transcribed(t, s, 4500, 3000, o)
		for _, s := range r.transcript().Segments {
			if o.Multilingual && !strings.Contains(o.Language, s.Language) {
				t.Errorf("a segment in %q, allowed are %s", s.Language, o.Language)
			}
		}
		return r.transcript().Language
	}
	free := language(Options{})
	if got := language(Options{Language: "German, " + free + ",Dutch"}); got != free {
		t.Errorf("among others and %s, the likeliest: %s", free, got)
	}
	for _, each := range []bool{false, true} {
		if got := language(Options{Language: "nl,de", Multilingual: each}); got != "nl" && got != "de" {
			t.Errorf("among nl and de (the likeliest of all is %s): %s", free, got)
		}
	}
	if _, err := newScripted(s, 3000, 448, Options{Language: "de,tlh"}); err == nil || !strings.Contains(err.Error(), "got tlh") {
		t.Errorf("an unknown one among several: %v", err)
	}
}

func checkLanguages(t *testing.T, tr *transcript.Transcript, each bool) {
	t.Helper()
	if len(tr.Segments) < 2 || tr.Language == "" {
		t.Fatalf("segments %+v in %q, want two or more", tr.Segments, tr.Language)
	}
	for i, s := range tr.Segments {
		if (s.Language != "" && s.LanguageProbability > 0) != each || i == 0 && each && s.Language != tr.Language {
			t.Errorf("each %v: segment %d is in %q, %v; the clip in %q", each, i, s.Language, s.LanguageProbability, tr.Language)
		}
	}
	if each && tr.Segments[0].Language == tr.Segments[len(tr.Segments)-1].Language {
		t.Error("both windows have one language: nothing was put to the test")
	}
}

func TestTemperatures(t *testing.T) {
	for _, tt := range []struct {
		first, step float64
		want        []float64
		why         string
	}{
		{0, 0.2, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, "no 0.6000000000000001"},
		{0.3, 0.5, []float64{0.3, 0.8}, "not above 1"},
		{0, 0, []float64{0}, "no fallback"},
		{2, 0.2, []float64{2}, "the first is always tried"},
		{0, 1, []float64{0, 1}, "1 belongs to it"},
	} {
		if got := Temperatures(tt.first, tt.step); !slices.Equal(got, tt.want) {
			t.Errorf("from %v by %v: %v; want %v (%s)", tt.first, tt.step, got, tt.want, tt.why)
		}
	}
}
