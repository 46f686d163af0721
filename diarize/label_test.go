package diarize

import (
	"slices"
	"testing"

	"verity/transcript"
)

// TestLabel: a word's own votes decide, unless they are weak and a change in mid-phrase is unlikely.
func TestLabel(t *testing.T) {
	w := func(start, end int, votes ...float32) window { return window{start: start, end: end, votes: votes} }
	d := &Diarization{Voices: make([][]float32, 2), Names: []string{"Speaker 1", "Speaker 2"}, Turns: []Turn{{0, 3, 1}, {3, 6, 2}}, windows: []window{
		w(0, 150, 0.95, 0.05), w(75, 225, 0.9, 0.1), w(150, 300, 0.6, 0.4), w(300, 450, 0.1, 0.9), w(375, 600, 0.05, 0.95),
	}}
	word := func(text string, start, end float64) transcript.Word {
		return transcript.Word{Word: text, Start: start, End: end}
	}
	for _, tt := range []struct {
		why   string
		words []transcript.Word
		want  []int
	}{
		{"a change after a sentence", []transcript.Word{
			word(" So", 0.2, 0.5), word(" it", 0.6, 0.9), word(" is.", 2.5, 2.9), word(" Yes", 3.1, 3.4), word(" it", 4, 4.4),
		}, []int{1, 1, 1, 2, 2}},
		{"no window: a change in the pause before it", []transcript.Word{
			word(" So", 0.2, 0.5), word(" there", 9, 9.2), word(" it", 9.2, 9.4),
		}, []int{1, 2, 2}},
		{"one word", []transcript.Word{word(" Yes", 4.5, 4.6)}, []int{2}},
		{"no length", []transcript.Word{word(" So", 0.5, 0.5), word(" no.", 1, 1)}, []int{1, 1}},
	} {
		tr := &transcript.Transcript{Segments: []transcript.Segment{{Words: tt.words}, {Text: " Yes.", Start: 5, End: 6}}}
		d.Label(tr)
		var got []int
		for _, w := range tr.Segments[0].Words {
			got = append(got, slices.Index([]string{"", "Speaker 1", "Speaker 2"}, w.Speaker))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: speakers %v, want %v", tt.why, got, tt.want)
		}
		if tr.Segments[1].Speaker != "Speaker 2" || len(tr.Turns) != 2 {
			t.Errorf("%s: without words: %q; turns %v", tt.why, tr.Segments[1].Speaker, tr.Turns)
		}
	}
	tr := &transcript.Transcript{Segments: []transcript.Segment{{Text: "x"}}}
	new(Diarization).Label(tr)
	if tr.Segments[0].Speaker != "" || tr.Turns != nil {
		t.Errorf("nobody: %+v", tr)
	}
}
