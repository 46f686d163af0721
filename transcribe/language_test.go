package transcribe

import (
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"verity/audio"
)

// TestEncodedOnce checks that the window a language is detected in is not encoded
// again to be decoded, unless it is not the window that is decoded first.
func TestEncodedOnce(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		name  string
		pad   audio.Pad
		spans []Span
		want  []int // where windows were encoded
	}{
		{"from the start", 0, nil, []int{0, 800, 1600}},
		{"a span later on", 0, []Span{{5, 20}}, []int{500, 1300}},
		{"a short span", 0, []Span{{0, 2}}, []int{0}},
		{"another mel than decoding sees", audio.PadMel, nil, []int{0, 0, 800, 1600}},
	} {
		var encoded []int
		s := scripted{tok: tok, open: new(atomic.Int32), encoded: func(seek, _ int) { encoded = append(encoded, seek) },
			decodeAt: func(int, int, decodeOptions) decodedWindow { return said(tok, 0, " one", 10, -0.1, 0) }}
		transcribed(t, s, 2000, 800, Options{Spans: tt.spans, Pad: tt.pad})
		if !slices.Equal(encoded, tt.want) {
			t.Errorf("%s: encoded windows at %v, want %v", tt.name, encoded, tt.want)
		}
		if s.open.Load() != 0 {
			t.Errorf("%s: a window was left open", tt.name)
		}
	}
}

// TestFirstSpeech checks that the language is detected where the first speech in the spans begins, and that a window
// with the first text may still change it.
func TestFirstSpeech(t *testing.T) {
	const speech = 70 // s of silence before it
	clip := openSound(t, "../model/base/jfk.flac")
	pcm := make([]float32, 120*audio.SampleRate)
	if _, err := clip.Read(pcm[speech*audio.SampleRate:]); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		strategy Strategy
		spans    []Span
		deaf     bool // the source has no samples
		want     string
	}{
		{"late speech", Accurate, nil, false, "de"},
		{"in the second span", Accurate, []Span{{0, 20}, {60, 100}}, false, "de"},
		{"upstream", Upstream, nil, false, "nn"},
		{"without a detector, the first text", Accurate, nil, true, "de"},
	} {
		s := scripted{tok: multilingual(t), language: func(seek, size int) (string, float32) {
			if seek+size > 100*speech {
				return "de", 0.9
			}
			return "nn", 0.6
		}, decodeAt: func(seek, size int, _ decodeOptions) decodedWindow {
			if seek+size > 100*speech {
				return said(multilingual(t), 0, " ja", 1500, -0.3, 0)
			}
			return said(multilingual(t), 0, " one", 1500, -2, 0.9)
		}}
		tr, err := newScripted(s, 3000, 448, Options{Strategy: tt.strategy, Spans: tt.spans})
		if err != nil {
			t.Fatal(err)
		}
		var src source = ramp{12000, 3000}
		if !tt.deaf {
			src = spokenRamp{ramp{12000, 3000}, pcm}
		}
		r := tr.newTranscription("", src, Callbacks{})
		if err := r.transcribeSpans(t.Context()); err != nil || r.clipLanguage.Code != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.name, r.clipLanguage.Code, err, tt.want)
		}
	}
}
