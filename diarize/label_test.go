package diarize

import (
	"slices"
	"testing"

	"verity/transcript"
)

// TestLabel: the turn that overlaps a word most decides, and the nearest where none does.
func TestLabel(t *testing.T) {
	d := &Diarization{
		Voices: make([][]float32, 2), Names: []string{"Speaker 1", "Speaker 2"},
		Turns: []Turn{{0, 3, 1}, {2.5, 6, 2}, {8, 9, 1}},
	}
	var words []transcript.Word
	want := []int{1, 1, 2, 2, 2, 1, 1}
	for _, span := range [][2]float64{{0.2, 0.2}, {2.4, 2.8}, {2.7, 3.2}, {5.9, 6.3}, {6.8, 6.9}, {7.1, 7.5}, {20, 21}} {
		words = append(words, transcript.Word{Start: span[0], End: span[1]})
	}
	tr := &transcript.Transcript{Segments: []transcript.Segment{{Words: words}, {Text: " Yes.", Start: 5, End: 6}}}
	d.Label(tr)
	var got []int
	for _, w := range tr.Segments[0].Words {
		got = append(got, slices.Index(d.Names, w.Speaker)+1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("speakers %v, want %v", got, want)
	}
	if tr.Segments[1].Speaker != "Speaker 2" || len(tr.Turns) != 3 {
		t.Errorf("without words: %q; turns %v", tr.Segments[1].Speaker, tr.Turns)
	}
	tr = &transcript.Transcript{Segments: []transcript.Segment{{Text: "x"}}}
	new(Diarization).Label(tr)
	if tr.Segments[0].Speaker != "" || tr.Turns != nil {
		t.Errorf("nobody: %+v", tr)
	}
}
