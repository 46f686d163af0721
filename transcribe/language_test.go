package transcribe

import (
	"slices"
	"sync/atomic"
	"testing"

	"verity/audio"
	"verity/decoder"
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
		{"a span later on", 0, []Span{{5, 20}}, []int{0, 500, 1300}},
		{"a short span", 0, []Span{{0, 2}}, []int{0, 0}},
		{"another mel than decoding sees", audio.PadMel, nil, []int{0, 0, 800, 1600}},
	} {
		var encoded []int
		s := scripted{tok: tok, open: new(atomic.Int32), encoded: func(seek, _ int) { encoded = append(encoded, seek) },
			decodeAt: func(int, int, decoder.SessionOptions) decodedWindow { return said(tok, 0, " one", 10, -0.5, 0) }}
		transcribed(t, s, 2000, 800, Options{Spans: tt.spans, Pad: tt.pad})
		if !slices.Equal(encoded, tt.want) {
			t.Errorf("%s: encoded windows at %v, want %v", tt.name, encoded, tt.want)
		}
		if s.open.Load() != 0 {
			t.Errorf("%s: a window was left open", tt.name)
		}
	}
}
