package transcribe

import (
	"slices"
	"testing"

	"verity/audio"
	"verity/decoder"
)

// TestHeardOnce checks that the window a language is detected in is not encoded
// again to be decoded, unless it is not the window that is decoded first.
func TestHeardOnce(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		name  string
		first *audio.Mel // what to detect in, if not window 0
		clips []Span
		want  []int // where windows were heard
	}{
		{"from the start", nil, nil, []int{0, 800, 1600}},
		{"a span later on", nil, []Span{{5, 20}}, []int{0, 500, 1300}},
		{"a short span", nil, []Span{{0, 2}}, []int{0, 0}},
		{"another mel", &audio.Mel{Bins: 1, Frames: 800, Data: make([]float32, 800)}, nil, []int{-1, 0, 800, 1600}},
	} {
		var heard []int
		s := scripted{tok: tok, heard: func(seek, _ int) { heard = append(heard, seek) },
			tell: func(int, int, decoder.SessionOptions) Decoding { return said(tok, 0, " one", 10, -0.5, 0) }}
		tr, err := New(scriptedModel(s, 800, 448), Options{Clips: tt.clips})
		if err != nil {
			t.Fatal(err)
		}
		r := tr.newReading("", ramp{2000, 800}, Watch{})
		if err := r.run(t.Context(), tt.first); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(heard, tt.want) {
			t.Errorf("%s: heard windows at %v, want %v", tt.name, heard, tt.want)
		}
		if r.heard != nil {
			t.Errorf("%s: a window was left open", tt.name)
		}
	}
}
