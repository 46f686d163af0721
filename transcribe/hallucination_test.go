package transcribe

import (
	"testing"

	"verity/transcript"
)

// TestHallucinationSilence makes the rule fire in each of its ways, and shows what keeps
// it from firing: each case differs from one that fires by one thing.
func TestHallucinationSilence(t *testing.T) {
	segment := func(start, end, probability float64) transcript.Segment {
		middle := (start + end) / 2
		return transcript.Segment{Start: start, End: end, Words: []transcript.Word{
			{Word: " Thank", Start: start, End: middle, Probability: probability},
			{Word: " you.", Start: middle, End: end, Probability: probability},
		}}
	}
	speech := func(start, end float64) transcript.Segment { return segment(start, end, 0.9) }
	dream := func(start, end float64) transcript.Segment { return segment(start, end, 0.01) }
	type list = []transcript.Segment
	for _, tt := range []struct {
		why        string
		segments   list
		lastSpeech float64
		clip       float64
		keep, seek int
		whole      bool
	}{
		{"speech", list{speech(105, 107), speech(120, 122)}, 100, 300, 2, -1, false},
		{"silence before the first: it is skipped", list{dream(105, 107), speech(120, 122)}, 100, 300, 0, 10500, true},
		{"no silence before the first, none behind it", list{dream(101, 103), speech(103.5, 105)}, 100, 300, 2, -1, false},
		{"silence on both sides: on at its start", list{speech(100, 102), dream(110, 112), speech(120, 122)}, 99, 300, 1, 11000, false},
		{"speech right before", list{speech(107, 109), dream(110, 112), speech(120, 122)}, 99, 300, 3, -1, false},
		{"speech right behind", list{speech(100, 102), dream(110, 112), speech(113, 115)}, 99, 300, 3, -1, false},
		{"another hallucination behind it", list{speech(100, 102), dream(110, 112), dream(113, 115), speech(125, 128)}, 99, 300, 1, 11000, false},
		{"at the end of the window", list{speech(100, 102), dream(127, 129)}, 99, 300, 1, 12700, false},
		{"at the end of the clip: nothing is left", list{speech(100, 102), dream(127, 129)}, 99, 130, 1, 13000, false},
		{"no words", list{{Start: 105, End: 107}}, 100, 300, 1, -1, false},
	} {
		p := windowTimes{seek: 10000, begin: 100, end: 130, soundEnd: 130, lastSpeech: tt.lastSpeech, clip: tt.clip}
		keep, seek, whole := skipSilence(tt.segments, p, 2, frameCount(tt.clip))
		if keep != tt.keep || seek != tt.seek || whole != tt.whole {
			t.Errorf("%s: keeps %d, goes on at %d, whole %v; want %d, %d, %v", tt.why, keep, seek, whole, tt.keep, tt.seek, tt.whole)
		}
	}
}

// TestAnomaly: each of the three signs of a word that nobody said.
func TestAnomaly(t *testing.T) {
	for _, tt := range []struct {
		why        string
		start, end float64
		p          float64
		want       float64
	}{
		{"a word", 0, 0.5, 0.9, 0},
		{"exactly as unlikely as a word may be", 0, 0.5, 0.15, 0},
		{"unlikely", 0, 0.5, 0.1, 1},
		{"short", 0, 0.033, 0.9, 1.5},
		{"long", 0, 5, 0.9, 3},
		{"unlikely and long", 0, 3, 0.1, 2},
	} {
		got := anomaly(transcript.Word{Start: tt.start, End: tt.end, Probability: tt.p})
		if d := got - tt.want; !(d < 1e-9 && d > -1e-9) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}
