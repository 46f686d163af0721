package transcribe

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"verity/tokenizer"
)

// A spoken window is what one window of 30 s says.
type spokenWindow struct {
	stride stride
	said   []any // as say takes it
}

func joinSpoken(tok *tokenizer.Tokenizer, windows []spokenWindow) (done []stretch) {
	m := newByTime(tok, 0)
	for _, w := range windows {
		var tokens []tokenizer.Token
		for _, c := range say(tok, w.said...).choices {
			tokens = append(tokens, c.Token)
		}
		done = append(done, m.add(hearAll(tokens), w.stride)...)
	}
	return append(done, m.flush()...)
}

func textOfAll(tok *tokenizer.Tokenizer, done []stretch) string {
	var all []tokenizer.Token
	for _, d := range done {
		all = append(all, tokensOf(d)...)
	}
	return strings.TrimSpace(tok.Decode(all))
}

// TestMergeTimes by hand: where the text changes over from one window to the next.
func TestMergeTimes(t *testing.T) {
	tok := multilingual(t)
	first, last := stride{30, 0, 5}, stride{30, 5, 0} // both hear 20 to 30 s
	for _, tt := range []struct {
		why         string
		left, right []any
		want        string
	}{
		{"both the same", []any{0.0, " one two three four", 20.0, 20.0, " five six seven eight", 29.0},
			[]any{0.0, " five six seven eight", 9.0, 9.0, " nine ten", 12.0},
			"one two three four five six seven eight nine ten"},
		{"the left window's last word is cut off", []any{20.0, " five six seven eighty", 30.0},
			[]any{0.0, " five six seven eight", 9.0, " nine", 12.0}, "five six seven eight nine"},
		{"the right window's first word is cut off", []any{16.0, " four five six seven", 30.0},
			[]any{0.0, " hive six seven", 10.0, 10.0, " nine", 12.0}, "four five six seven nine"},
		{"nothing in common: the middle", []any{20.0, " one", 24.0, 26.0, " two", 30.0},
			[]any{0.0, " three", 4.0, 6.0, " four", 9.0}, "one four"},
		{"the left window leaves its last sentence out", []any{0.0, " one two", 21.0},
			[]any{1.0, " three four", 9.0}, "one two three four"},
		{"the right window begins late", []any{20.0, " one", 24.0, 25.0, " two", 27.0},
			[]any{8.0, " three", 9.0}, "one two three"},
		{"the same phrase at another time is another phrase", []any{10.0, " his subjects and", 13.0, 20.0, " seven", 24.0},
			[]any{6.0, " his subjects and", 9.0}, "his subjects and seven his subjects and"},
		{"a silent window", []any{20.0, " one two", 24.0}, nil, "one two"},
		{"text behind a silent start", nil, []any{0.0, " one two", 9.0}, "one two"},
	} {
		done := joinSpoken(tok, []spokenWindow{{first, tt.left}, {last, tt.right}})
		if got := textOfAll(tok, done); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.why, got, tt.want)
		}
	}
}

// TestMergeTimesSegments: a segment of which either window has a part has the start of the
// first and the end of the second.
func TestMergeTimesSegments(t *testing.T) {
	tok := multilingual(t)
	done := joinSpoken(tok, []spokenWindow{
		{stride{30, 0, 5}, []any{0.0, " one two", 18.0, 18.0, " three four five six", 30.0}},
		{stride{30, 5, 0}, []any{0.0, " four five six seven eight", 16.0, 17.0, " nine", 20.0}},
	})
	var got [][2]float64
	for _, d := range done {
		got = append(got, [2]float64{d.start, d.end})
	}
	if want := [][2]float64{{0, 18}, {18, 36}, {37, 40}}; !slices.Equal(got, want) {
		t.Errorf("segments %v, want %v: a segment of both windows is one", got, want)
	}
}

// TestMergeTimesProperty: whatever the overlap, windows that hear the same words at times
// that are a little off give every word once, in order.
func TestMergeTimesProperty(t *testing.T) {
	tok := multilingual(t)
	words := strings.Fields("one two three four five six seven eight nine ten red blue green black white day night")
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		side := 0.5 + 4.5*rnd.Float64()
		side = math.Round(side*50) / 50
		var want []string
		for range 80 { // one a second
			want = append(want, " "+words[rnd.IntN(len(words))])
		}
		var windows []spokenWindow
		for at := 0.0; at < 80; at += 30 - 2*side {
			s := stride{math.Min(30, 80-at), side, side}
			if at == 0 {
				s.left = 0
			}
			last := at+30 >= 80
			if last {
				s.right = 0
			}
			var saidHere []any
			for i, w := range want {
				from, to := float64(i)-at, float64(i)+1-at
				if from < 0 || to > s.length {
					continue // cut off: not said
				}
				off := 0.2 * rnd.Float64()
				saidHere = append(saidHere, from+off, w, to-off)
			}
			if windows = append(windows, spokenWindow{s, saidHere}); last {
				break
			}
		}
		if got := textOfAll(tok, joinSpoken(tok, windows)); got != strings.TrimSpace(strings.Join(want, "")) {
			t.Fatalf("overlap of twice %v s: got\n%s\nwant\n%s", side, got, strings.Join(want, ""))
		}
	}
}
