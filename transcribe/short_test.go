package transcribe

import (
	"slices"
	"sync/atomic"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
)

// TestShortWindow checks when a short window stands, and when it is encoded whole: the language or the text is in doubt.
func TestShortWindow(t *testing.T) {
	tok := multilingual(t)
	text := func(logProb float32) decodedWindow { return said(tok, 0, " one", 90, logProb, 0) }
	unended := text(-0.1)
	unended.Choices = unended.Choices[:len(unended.Choices)-1]
	for _, tt := range []struct {
		why      string
		language float32 // its probability; 0: given
		first    decodedWindow
		o        Options
		sizes    []int  // of sound in what is encoded
		short    []bool // what is decoded
	}{
		{"certain", 0, text(-0.1), Options{}, []int{200}, []bool{true}},
		{"certain, language detected", 0.95, text(-0.1), Options{}, []int{200}, []bool{true}},
		{"language in doubt", 0.8, text(-0.1), Options{}, []int{200, 200}, []bool{false}},
		{"text in doubt", 0, text(-1.5), Options{}, []int{200, 200}, []bool{true, false}},
		{"no words", 0, said(tok, 0, "", 90, -0.1, 0), Options{}, []int{200, 200}, []bool{true, false}},
		{"a loop", 0, said(tok, 0, " one two one six two one six", 90, -0.1, 0), Options{}, []int{200, 200}, []bool{true, false}},
		{"no end of text", 0, unended, Options{}, []int{200, 200}, []bool{true, false}},
		{"whole windows", 0, text(-0.1), Options{AudioContext: WholeWindows}, []int{200}, []bool{false}},
		{"as upstream", 0, text(-0.1), Options{Strategy: Upstream}, []int{200}, []bool{false}},
	} {
		var sizes []int
		var short []bool
		s := scripted{tok: tok, open: new(atomic.Int32), encoded: func(_, size int) { sizes = append(sizes, size) },
			language: func(int, int) (string, float32) { return "de", tt.language },
			decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
				_, is := o.Rules[0].(decoder.EndOfSound)
				if short = append(short, is); is {
					return tt.first
				}
				return text(-0.1)
			}}
		if tt.language == 0 {
			tt.o.Language = "en"
		}
		transcribed(t, s, 200, 800, tt.o)
		if !slices.Equal(sizes, tt.sizes) || !slices.Equal(short, tt.short) || s.open.Load() != 0 {
			t.Errorf("%s: encoded %v, want %v; decoded short %v, want %v; %d left open", tt.why, sizes, tt.sizes, short, tt.short, s.open.Load())
		}
	}
}

// TestLacksText: speech may last longer than its text, but not much. Pauses do not count, nor does text without times.
func TestLacksText(t *testing.T) {
	tok := multilingual(t)
	pcm, err := openSound(t, "../model/base/jfk.flac").Samples(11 * audio.SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	const half = " ask not what your country can do for you,"
	for _, tt := range []struct {
		name    string
		pcm     []float32
		text    string
		without bool
		want    bool
	}{
		{"half of the text", pcm, half, false, true},
		{"all of it, with its pauses", pcm, " And so my fellow Americans" + half + " ask what you can do for your country.", false, false},
		{"nobody speaks", make([]float32, len(pcm)), half, false, false},
		{"without times", pcm, half, true, false},
	} {
		r := &transcription{t: &Transcriber{opt: Options{WithoutTimestamps: tt.without}, model: &Model{Tokenizer: tok}}, src: spokenRamp{pcm: tt.pcm}}
		a := attempt{tokens: slices.Concat([]tokenizer.Token{tok.TimestampBegin}, tok.Encode(tt.text), []tokenizer.Token{tok.TimestampBegin + 550})}
		got, err := r.lacksText(t.Context(), &window{size: 1100}, a)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestShortDoubt checks where a short window is no longer decoded.
func TestShortDoubt(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		text     string
		logProb  float32
		doubtful bool
		loop     bool
	}{
		{" one two three", -0.1, false, false},
		{" one two three", -1.2, true, false},
		{" one two one two one", -0.1, false, false},
		{" one two six one two six", -0.1, false, true},
		{" One two six five one two six five", -0.1, false, true},
	} {
		d := doubt{t: tok}
		for _, c := range said(tok, 0, tt.text, 90, tt.logProb, 0).Choices {
			d.add(c)
		}
		if d.sum > shortDoubt != tt.doubtful || d.loop != tt.loop {
			t.Errorf("%q at %.1f: a sum of %.2f, a loop %v; want doubt %v, a loop %v", tt.text, tt.logProb, d.sum, d.loop, tt.doubtful, tt.loop)
		}
	}
}

// TestProvisionalLoop checks that a loop in text that will be replaced is no text, and is not decoded again.
func TestProvisionalLoop(t *testing.T) {
	tok, decoded := multilingual(t), 0
	tr, err := newScripted(scripted{tok: tok, decodeAt: func(int, int, decodeOptions) decodedWindow {
		decoded++
		return said(tok, 0, " one two six one two six", 90, -0.1, 0)
	}}, 800, 448, Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	tr.pass = Pass{Provisional: true}
	r := tr.newTranscription("", ramp{200, 800}, Callbacks{})
	if err := r.transcribeSpans(t.Context()); err != nil || decoded != 1 || r.transcript().Text != "" {
		t.Errorf("decoded %d times, got %q, %v; want once, no text", decoded, r.transcript().Text, err)
	}
}
