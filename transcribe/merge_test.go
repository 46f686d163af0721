package transcribe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"verity/tokenizer"
	"verity/transcript"
)

// A chunkSegment is a segment by its times and its text.
type chunkSegment struct {
	start, end float64
	text       string
}

func segmentsFrom(tok *tokenizer.Tokenizer, list []chunkSegment, words bool) (out []transcript.Segment) {
	for _, l := range list {
		s := transcript.Segment{Start: l.start, End: l.end, Text: l.text}
		s.Tokens = append(s.Tokens, tok.TimestampBegin)
		s.Tokens = append(s.Tokens, tok.Encode(l.text)...)
		s.Tokens = append(s.Tokens, tok.TimestampBegin+50)
		s.Origins = make([]transcript.TokenOrigin, len(s.Tokens))
		for i := range s.Origins {
			s.Origins[i].Round = int(s.Tokens[i])
		}
		if words {
			f := strings.SplitAfter(strings.TrimSpace(l.text), " ")
			for i, w := range f {
				d := (l.end - l.start) / float64(len(f))
				s.Words = append(s.Words, transcript.Word{
					Word: " " + strings.TrimSpace(w), Start: l.start + d*float64(i), End: l.start + d*float64(i+1), Probability: 1,
				})
			}
		}
		out = append(out, s)
	}
	return out
}

func spellSegments(t *testing.T, list []transcript.Segment) string {
	t.Helper()
	var lines []string
	for _, s := range list {
		if len(s.Origins) != len(s.Tokens) {
			t.Errorf("%q: %d tokens, %d marks", s.Text, len(s.Tokens), len(s.Origins))
		}
		for i, m := range s.Origins {
			if m.Round != int(s.Tokens[i]) {
				t.Errorf("%q: mark %d is of another token", s.Text, i)
			}
		}
		if s.Words != nil {
			text := ""
			for _, w := range s.Words {
				text += w.Word
			}
			if text != s.Text {
				t.Errorf("words %q in %q", text, s.Text)
			}
		}
		lines = append(lines, fmt.Sprintf("%.1f-%.1f%s", s.Start, s.End, s.Text))
	}
	return strings.Join(lines, "; ")
}

// TestMerge by hand: the left chunk hears up to 110 s, the right one begins at 100 s.
func TestMerge(t *testing.T) {
	tr := scriptedChunks(t, Options{}, nil)
	tok := tr.model.Tokenizer
	for _, tt := range []struct {
		why         string
		left, right []chunkSegment
		heard       float64
		want        string
	}{
		{"the same text: within it",
			[]chunkSegment{{90, 100, " one two"}, {100, 104, " three four five six"}, {104, 108, " seven eight"}},
			[]chunkSegment{{100, 104, " three four five six"}, {104, 108, " seven eight"}, {108, 112, " nine ten"}}, 110,
			"90.0-100.0 one two; 100.0-104.0 three four five six; 104.0-106.0 seven | 106.0-108.0 eight; 108.0-112.0 nine ten"},
		{"case and punctuation do not matter",
			[]chunkSegment{{96, 106, " He said: No, I will"}}, []chunkSegment{{100, 112, " No. I will go away"}}, 110,
			"96.0-106.0 He said: No, I will | 106.9-112.0 go away"},
		{"the right chunk's first word is cut off",
			[]chunkSegment{{98, 104, " a wonderful day today"}}, []chunkSegment{{100, 106, " full day today, friends"}}, 110,
			"98.0-104.0 a wonderful day today | 104.0-106.0 friends"},
		{"nothing in common: the cut",
			[]chunkSegment{{90, 99, " one"}, {101, 109, " two three"}}, []chunkSegment{{100.2, 108, " four five"}}, 110,
			"90.0-99.0 one | 100.2-108.0 four five"},
		{"the right chunk says nothing at first",
			[]chunkSegment{{98, 103, " one two"}, {103, 107, " three"}}, []chunkSegment{{107.5, 112, " four five"}}, 110,
			"98.0-103.0 one two; 103.0-107.0 three | 107.5-112.0 four five"},
		{"the left chunk says nothing", []chunkSegment{{60, 70, " one"}}, []chunkSegment{{100, 107, " two"}}, 110, "60.0-70.0 one | 100.0-107.0 two"},
		{"nothing is heard twice, so a word may be said twice",
			[]chunkSegment{{90, 100, " New York"}}, []chunkSegment{{100, 102, " New York"}}, 100,
			"90.0-100.0 New York | 100.0-102.0 New York"},
		{"the same phrase at another time is another phrase",
			[]chunkSegment{{90, 96, " New York"}}, []chunkSegment{{107, 109, " New York"}}, 110,
			"90.0-96.0 New York | 107.0-109.0 New York"},
		{"all of the right chunk's segment is the left one's",
			[]chunkSegment{{96, 104, " one two three four"}}, []chunkSegment{{100, 104, " three four"}, {111, 115, " five six"}}, 108,
			"96.0-104.0 one two three four | 111.0-115.0 five six"},
		{"one word is all that both have",
			[]chunkSegment{{96, 102, " one two three"}}, []chunkSegment{{100, 104, " Three, four"}}, 102,
			"96.0-102.0 one two three | 102.3-104.0 four"},
		{"no left chunk", nil, []chunkSegment{{0, 7, " two"}}, 0, " | 0.0-7.0 two"},
		{"no right chunk", []chunkSegment{{90, 108, " two"}}, nil, 110, "90.0-108.0 two | "},
	} {
		for _, words := range []bool{false, true} {
			r := tr.newTranscription("", ramp{20000, 3000}, Callbacks{})
			left, right := r.merge(segmentsFrom(tok, tt.left, words), segmentsFrom(tok, tt.right, words), 100, tt.heard)
			got := spellSegments(t, left) + " | " + spellSegments(t, right)
			if words { // their times are others
				got, tt.want = withoutTimes(got), withoutTimes(tt.want)
			}
			if got != tt.want {
				t.Errorf("%s, words %v: got\n%s\nwant\n%s", tt.why, words, got, tt.want)
			}
		}
	}
}

func withoutTimes(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' || c == '-' {
			return -1
		}
		return c
	}, s)
}

// TestMergeProperty: whatever two chunks hear of each other, they give every word once, in
// order, if their times are a little off; also words of several tokens, in a language
// written without spaces, and with words timed.
func TestMergeProperty(t *testing.T) {
	tok := multilingual(t)
	for _, lang := range []string{"en", "ja"} {
		words := strings.Fields("one two three. four Wednesday, five six seven eight nine red blue hippopotamus green")
		if lang == "ja" {
			words = strings.Split("一 二 三 四 五 六 七 八 九 十 昨 日 東 京", " ")
		}
		tr, err := newScripted(scripted{tok: tok}, 3000, 448, Options{Language: lang})
		if err != nil {
			t.Fatal(err)
		}
		r := tr.newTranscription("", ramp{20000, 3000}, Callbacks{})
		r.clipLanguage.Language = *tr.language
		rnd := rand.New(rand.NewPCG(3, 4))
		for range 300 {
			var all []string
			begins, at := []float64{}, 0.0 // longer words take longer
			for range 60 {
				w := words[rnd.IntN(len(words))]
				if lang == "en" {
					w = " " + w
				}
				all, begins, at = append(all, w), append(begins, at), at+0.12*float64(len(w))
			}
			begins = append(begins, at)
			cut := at * (0.3 + 0.3*rnd.Float64())
			heard := cut + 0.4*at*rnd.Float64()
			to, _ := slices.BinarySearch(begins, heard)
			from, _ := slices.BinarySearch(begins, cut)
			if heard = begins[to-1]; heard < cut {
				continue // a word that neither has
			}
			left, right := chunkOf(rnd, all, begins, 0, to-1), chunkOf(rnd, all, begins, from, 60)
			a, b := r.merge(segmentsFrom(tok, left, false), segmentsFrom(tok, right, false), cut, heard)
			checkSeam(t, all, slices.Concat(a, b), lang, cut, heard)
		}
	}
}

// chunkOf says the words from first to last in segments of one to seven words.
func chunkOf(rnd *rand.Rand, all []string, begins []float64, first, last int) (list []chunkSegment) {
	for i := first; i < last; {
		to := min(last, i+1+rnd.IntN(7))
		off := 0.1 * rnd.Float64()
		list = append(list, chunkSegment{begins[i] + off, begins[to] - off, strings.Join(all[i:to], "")})
		i = to
	}
	return list
}

func checkSeam(t *testing.T, all []string, got []transcript.Segment, lang string, cut, heard float64) {
	t.Helper()
	text, end := "", 0.0
	for _, s := range got {
		text += s.Text
		if s.Start < end || s.End < s.Start {
			t.Errorf("%s: segment %+v begins before %v", lang, s, end)
		}
		end = s.End
	}
	if want := strings.Join(all, ""); text != want {
		t.Fatalf("%s, cut at %v, heard to %v: got\n%s\nwant\n%s", lang, cut, heard, text, want)
	}
}
