package transcript

import (
	"slices"
	"strings"
	"testing"

	"verity/tokenizer"
)

// TestCutAtSpeakers cuts a segment in three, whose words and tokens are together those of the segment.
func TestCutAtSpeakers(t *testing.T) {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	words := []Word{
		{Word: " Are", Start: 1, End: 1.2, Speaker: "A"}, {Word: " you", Start: 1.2, End: 1.5, Speaker: "A"},
		{Word: " sure?", Start: 1.5, End: 2, Speaker: "A"}, {Word: " Yes.", Start: 2.2, End: 2.5, Speaker: "B"},
		{Word: " Zoë,", Start: 3, End: 3.5, Speaker: "A"}, {Word: " good.", Start: 3.5, End: 4, Speaker: "A"},
	}
	const text = " Are you sure? Yes. Zoë, good."
	tokens := slices.Concat([]tokenizer.Token{tok.TimestampBegin}, tok.Encode(text), []tokenizer.Token{tok.TimestampBegin + 150})
	logProbs := make([]float32, len(tokens))
	for i := range logProbs {
		logProbs[i] = float32(i)
	}
	tr := &Transcript{Name: "dir/a talk.wav", Segments: []Segment{
		{Text: text, Start: 1, End: 4, Words: words, Tokens: tokens, LogProbs: logProbs},
		{ID: 1, Text: " Mm.", Start: 5, End: 6, Speaker: "B"},
	}}
	tr.CutAtSpeakers(tok)
	var got, speakers []string
	var all []tokenizer.Token
	for i, s := range tr.Segments {
		if s.ID != i || len(s.Tokens) != len(s.LogProbs) {
			t.Errorf("segment %d: ID %d, %d tokens with %d probabilities", i, s.ID, len(s.Tokens), len(s.LogProbs))
		}
		if len(s.Words) > 0 && (s.Start != s.Words[0].Start || s.End != s.Words[len(s.Words)-1].End) {
			t.Errorf("segment %d: %v to %v, want the times of its words", i, s.Start, s.End)
		}
		if i < 3 {
			if text := tok.Decode(slices.DeleteFunc(slices.Clone(s.Tokens), func(k tokenizer.Token) bool { return !tok.IsText(k) })); text != s.Text {
				t.Errorf("segment %d: tokens of %q, want %q", i, text, s.Text)
			}
		}
		got, speakers, all = append(got, s.Text), append(speakers, s.Speaker), append(all, s.Tokens...)
	}
	if !slices.Equal(got, []string{" Are you sure?", " Yes.", " Zoë, good.", " Mm."}) ||
		strings.Join(speakers, "") != "ABAB" || !slices.Equal(all, tokens) {
		t.Errorf("got %q of %v", got, speakers)
	}

	var b strings.Builder
	if err := Write(&b, RTTM, tr); err != nil {
		t.Fatal(err)
	}
	const want = "SPEAKER a_talk 1 1.000 1.000 <NA> <NA> A <NA> <NA>\n" + "SPEAKER a_talk 1 2.200 0.300 <NA> <NA> B <NA> <NA>\n" +
		"SPEAKER a_talk 1 3.000 1.000 <NA> <NA> A <NA> <NA>\n" + "SPEAKER a_talk 1 5.000 1.000 <NA> <NA> B <NA> <NA>\n"
	if b.String() != want {
		t.Errorf("RTTM of segments:\n%swant\n%s", b.String(), want)
	}
	tr.Turns, tr.Name = []Turn{{Start: 0.5, End: 2, Speaker: "A B"}}, `C:\sounds\a talk.wav`
	b.Reset()
	if err := Write(&b, RTTM, tr); err != nil || b.String() != "SPEAKER a_talk 1 0.500 1.500 <NA> <NA> A_B <NA> <NA>\n" {
		t.Errorf("RTTM of turns: %q, error %v", b.String(), err)
	}
}

// TestTurnTexts: each turn has the words that are in it or nearest to it, though turns overlap, as they were replaced.
func TestTurnTexts(t *testing.T) {
	word := func(text string, at float64) Word { return Word{Word: text, Start: at, End: at + 0.2} }
	tr := &Transcript{Segments: []Segment{
		{Text: " one two three", Words: []Word{word(" one", 0.5), word(" two", 1.7), word(" three", 2.8)}},
		{Text: " four five six", Words: []Word{word(" four", 3.8), word(" five", 4.5), word(" six", 9)}},
	}}
	tr.SetTurns([]Turn{{Start: 0, End: 2, Speaker: "A"}, {Start: 1, End: 3, Speaker: "B"}, {Start: 4, End: 5, Speaker: "A"}})
	NewReplacer([]Replacement{{"two three", "2-3"}, {"five", "V V"}}).Transcript(tr)
	for range 2 { // again, the same
		tr.SetTurnTexts()
		for i, want := range []string{" one", " 2-3", " four V V six"} {
			if got := tr.Turns[i].Text; got != want {
				t.Errorf("turn %d: %q, want %q", i, got, want)
			}
		}
	}
	tr.Turns, tr.Segments[0].Words[0].Speaker = tr.Turns[:2], "nobody" // who has no turn
	if tr.SetTurnTexts(); tr.Turns[0].Text != " four V V six" {
		t.Errorf("turn 0: %q", tr.Turns[0].Text)
	}
	if tr.SetTurns(nil); tr.Segments[1].Words[0].Speaker != "A" {
		t.Errorf("without turns, names change: %q", tr.Segments[1].Words[0].Speaker)
	}
}

// TestNearestTurn: overlap decides, also where a turn is shorter than the word.
func TestNearestTurn(t *testing.T) {
	turns := []Turn{{Start: 4.9, End: 5}, {Start: 5.1, End: 8}, {Start: 7, End: 20}}
	for _, tt := range []struct {
		start, end float64
		want       int
	}{{0, 10, 2}, {0, 8, 1}, {4.8, 5, 0}, {7.6, 7.8, 2}, {7.1, 7.2, 1}, {0, 1, 0}, {30, 31, 2}} {
		if got := nearestTurn(turns, "", tt.start, tt.end); got != tt.want {
			t.Errorf("%g to %g: turn %d, want %d", tt.start, tt.end, got, tt.want)
		}
	}
}

// TestLine: a line has the name of its speaker where the speaker changes, and with times always.
func TestLine(t *testing.T) {
	tr := &Transcript{Segments: []Segment{{End: 1, Text: " One.", Speaker: "A"}, {Start: 1, End: 2, Text: " "}, {Start: 2, End: 3, Text: " Two.", Speaker: "A"},
		{Start: 3, End: 4, Text: " Three.", Speaker: "B"}}}
	for o, want := range map[Options]string{
		{Lines: true}: "A: One.\nTwo.\nB: Three.\n",
		{Times: true}: "[00:00.000 --> 00:01.000] A: One.\n[00:02.000 --> 00:03.000] A: Two.\n[00:03.000 --> 00:04.000] B: Three.\n",
	} {
		var b strings.Builder
		if err := o.Write(&b, TXT, tr); err != nil || b.String() != want {
			t.Errorf("%+v: %q, %v, want %q", o, b.String(), err, want)
		}
	}
}
