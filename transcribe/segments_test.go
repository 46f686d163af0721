package transcribe

import (
	"math"
	"slices"
	"testing"

	"verity/tokenizer"
)

func TestCut(t *testing.T) {
	tok := multilingual(t)
	at := func(seconds float64) tokenizer.Token {
		return tok.TimestampBegin + tokenizer.Token(math.Round(seconds/0.02))
	}
	const a, b, c = 1000, 1001, 1002
	type span struct{ start, end float64 }
	tests := []struct {
		name    string
		tokens  []tokenizer.Token
		advance int
		want    []span
		why     string
	}{
		{"pairs", []tokenizer.Token{at(0), a, at(1), at(1.2), b, at(2), at(2.4), c}, 200, []span{{0, 1}, {1.2, 2}}, "c is not finished: the next window hears it whole"},
		{"pair at the end", []tokenizer.Token{at(0), a, at(1), at(1.2)}, 100, []span{{0, 1}}, "the next window starts where the last segment ends"},
		{"single at the end", []tokenizer.Token{at(0), a, at(1), at(1.2), b, at(2)}, 777, []span{{0, 1}, {1.2, 2}}, "nothing follows"},
		{"one segment", []tokenizer.Token{at(0.4), a, b, at(3)}, 777, []span{{0, 3}}, "upstream drops the start"},
		{"unfinished", []tokenizer.Token{at(0), a, b}, 777, []span{{0, 7.77}}, "a first timestamp of 0 says nothing of the end"},
		{"no end but a start", []tokenizer.Token{at(1), a, b}, 777, []span{{0, 1}}, "as upstream: the only timestamp is taken for the end"},
		{"text", []tokenizer.Token{a, b}, 777, []span{{0, 7.77}}, ""},
		{"nothing", nil, 777, []span{{0, 7.77}}, ""},
		{"one timestamp", []tokenizer.Token{at(2)}, 777, []span{{0, 2}}, "too short to end in text and one"},
		{"text before a pair", []tokenizer.Token{a, at(1), at(1.2), b}, 100, []span{{0, 1}}, "upstream would start it before the beginning of time"},
		{"three timestamps", []tokenizer.Token{at(0), a, at(1), at(1), at(1), b, at(2)}, 777, []span{{0, 1}, {1, 1}, {1, 2}}, "every pair is a boundary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pieces, advance := splitAtTimestamps(tok, tt.tokens, 777)
			var got []span
			for _, p := range pieces {
				got = append(got, span{p.start, p.end})
			}
			if advance != tt.advance || !slices.Equal(got, tt.want) {
				t.Errorf("cut = %v, advance %d; want %v, %d (%s)", got, advance, tt.want, tt.advance, tt.why)
			}
		})
	}
}

// FuzzCut checks what holds of any tokens: pieces are the tokens in order, only
// whole segments are left for the next window, and times are numbers.
func FuzzCut(f *testing.F) {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{200, 1, 210, 211, 2, 220}, uint16(3000))
	f.Add([]byte{200, 200, 200}, uint16(1))
	f.Add([]byte{1, 210, 210, 2}, uint16(37))
	f.Fuzz(func(t *testing.T, script []byte, size uint16) {
		tokens := make([]tokenizer.Token, len(script))
		for i, b := range script {
			tokens[i] = 1000 + tokenizer.Token(b)
			if b >= 128 {
				tokens[i] = tok.TimestampBegin + tokenizer.Token(b-128)*10
			}
		}
		pieces, advance := splitAtTimestamps(tok, tokens, int(size))
		var all []tokenizer.Token
		for _, p := range pieces {
			all = append(all, p.tokens...)
			if !(p.start >= 0) || !(p.end >= 0) || math.IsInf(p.end, 1) {
				t.Errorf("%v: piece from %v to %v", tokens, p.start, p.end)
			}
		}
		if !slices.Equal(all, tokens[:len(all)]) {
			t.Errorf("%v: pieces hold %v", tokens, all)
		}
		if len(all) < len(tokens) && !tok.IsTimestamp(tokens[len(all)]) {
			t.Errorf("%v: cut off after %d tokens, inside a segment", tokens, len(all))
		}
		if advance < 0 {
			t.Errorf("%v: advance %d", tokens, advance)
		}
	})
}
