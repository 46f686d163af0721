package report

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"verity/transcript"
	"verity/wer"
)

// speechRecord returns a record of words with speakers.
func speechRecord(reference, found []Speech) *Record {
	r := &Record{Speech: reference}
	for _, s := range found {
		r.Segments = append(r.Segments, transcript.Segment{Speaker: s.Speaker, Text: s.Text})
	}
	return r
}

func TestWDER(t *testing.T) {
	for _, tt := range []struct {
		why              string
		reference, found []Speech
		wrong, words     int
	}{
		{"names may differ", []Speech{{"A", "one two"}, {"B", "three"}}, []Speech{{"x", "one two"}, {"y", "three"}}, 0, 3},
		{"one word of the other", []Speech{{"A", "one two"}, {"B", "three"}}, []Speech{{"x", "one"}, {"y", "two three"}}, 1, 3},
		{"one speaker found", []Speech{{"A", "one two"}, {"B", "three"}}, []Speech{{"x", "one two three"}}, 1, 3},
		{"a wrong word counts, lost and added ones do not", []Speech{{"A", "one two"}, {"B", "three four six"}},
			[]Speech{{"x", "one too"}, {"y", "four six five"}}, 0, 4},
		{"nothing found", []Speech{{"A", "one two"}}, nil, 0, 0},
	} {
		s, err := speakersOf(context.Background(), new(wer.Scorer), speechRecord(tt.reference, tt.found), normalizer("none", ""))
		if err != nil || s.WrongSpeaker != tt.wrong || s.Words != tt.words {
			t.Errorf("%s: %d of %d words, want %d of %d; error %v", tt.why, s.WrongSpeaker, s.Words, tt.wrong, tt.words, err)
		}
	}
}

// TestSpeakerScore sums clips: errors in seconds, then rates.
func TestSpeakerScore(t *testing.T) {
	set, err := NewSet("speakers", "none")
	if err != nil {
		t.Fatal(err)
	}
	turn := func(start, end float64, who string) transcript.Turn {
		return transcript.Turn{Start: start, End: end, Speaker: who}
	}
	for _, r := range []*Record{
		{ID: "none is known", NoReference: true, Turns: []transcript.Turn{turn(0, 1, "Speaker 1")}},
		{ID: "right", NoReference: true, ReferenceTurns: []transcript.Turn{turn(0, 4, "Ann"), turn(4, 6, "Bob")},
			Turns: []transcript.Turn{turn(0, 4, "Speaker 1"), turn(4, 6, "Speaker 2")}},
		{ID: "one for two", NoReference: true, ReferenceTurns: []transcript.Turn{turn(0, 4, "Ann"), turn(4, 6, "Bob")},
			Turns: []transcript.Turn{turn(0, 6, "Speaker 1")}},
		{ID: "silence", NoReference: true, ReferenceTurns: []transcript.Turn{}, Turns: []transcript.Turn{turn(0, 0.5, "Speaker 1")}},
		{ID: "nobody found", NoReference: true, ReferenceTurns: []transcript.Turn{turn(0, 3, "Ann")}},
	} {
		line, err := r.Line() // an empty reference is not lost in the file
		var read Record
		if err == nil {
			err = json.Unmarshal(line, &read)
		}
		if err == nil {
			err = set.Add(context.Background(), &read)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := set.Score().Speakers
	if s == nil || s.Clips != 4 || s.CountRight != 1 || s.Texts != 0 {
		t.Fatalf("got %+v, want 4 clips, the number right in 1", s)
	}
	if want := (2.0 + 3 + 0.5) / 15; !(math.Abs(s.All.DER-want) < 1e-9) {
		t.Errorf("DER %v, want %v", s.All.DER, want)
	}
}
