package transcribe

import (
	"reflect"
	"strings"
	"testing"

	"verity/assistant"
	"verity/decoder"
	"verity/tokenizer"
)

// TestSearchLadder: beams are for temperature 0 and samples for those above, as upstream
// has it; the length penalty is for both.
func TestSearchLadder(t *testing.T) {
	tok := multilingual(t)
	alpha := 0.5
	var got []decoder.SearchOptions
	s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
		got = append(got, o.search)
		return decodedWindow{Result: assistant.Result{Choices: []decoder.Choice{{Token: 500, LogProb: -9}, {Token: tok.EOT, LogProb: -9}}}}
	}}
	transcribed(t, s, 3000, 3000, Options{
		Language: "en", BeamSize: 5, Patience: 2, BestOf: 3, LengthPenalty: &alpha, Temperatures: []float64{0, 0.4},
	})
	want := []decoder.SearchOptions{{Beams: 5, Patience: 2, LengthPenalty: &alpha}, {Samples: 3, LengthPenalty: &alpha}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("searched with %+v, want %+v", got, want)
	}
}

// TestPrefixAndHotwords: the prefix is behind the first window's start sequence; hotwords
// come before the text so far, but not where there is a prefix.
func TestPrefixAndHotwords(t *testing.T) {
	tok := multilingual(t)
	encode := func(s string) []tokenizer.Token { return tok.Encode(s) }
	start := []tokenizer.Token{tok.SOT, tok.SOT + 1, tok.Transcribe}
	text := encode(" so far")
	cat := func(parts ...any) (all []tokenizer.Token) {
		for _, p := range parts {
			switch p := p.(type) {
			case tokenizer.Token:
				all = append(all, p)
			case []tokenizer.Token:
				all = append(all, p...)
			}
		}
		return all
	}
	for _, tt := range []struct {
		name string
		o    Options
		want [2][]tokenizer.Token
	}{
		{"neither", Options{}, [2][]tokenizer.Token{start, cat(tok.SOTPrev, text, start)}},
		{"prefix", Options{Prefix: " Dear all,"}, [2][]tokenizer.Token{cat(start, encode(" Dear all,")), cat(tok.SOTPrev, text, start)}},
		{"hotwords", Options{Hotwords: "Verity"}, [2][]tokenizer.Token{cat(tok.SOTPrev, encode(" Verity"), start), cat(tok.SOTPrev, encode(" Verity"), text, start)}},
		{"both", Options{Prefix: "Dear", Hotwords: "Verity"}, [2][]tokenizer.Token{cat(start, encode(" Dear")), cat(tok.SOTPrev, encode(" Verity"), text, start)}},
	} {
		var got [][]tokenizer.Token
		s := scripted{tok: tok, decodeAt: func(_, _ int, o decodeOptions) decodedWindow {
			got = append(got, o.Prompt)
			var d decodedWindow
			for _, x := range append(append([]tokenizer.Token{tok.TimestampBegin}, text...), tok.TimestampBegin+1500, tok.EOT) {
				d.Choices = append(d.Choices, decoder.Choice{Token: x})
			}
			return d
		}}
		tt.o.Language = "en"
		transcribed(t, s, 6000, 3000, tt.o)
		for i, want := range tt.want {
			strip := func(x []tokenizer.Token) (out []tokenizer.Token) { // timestamps are part of the text so far
				for _, v := range x {
					if !tok.IsTimestamp(v) {
						out = append(out, v)
					}
				}
				return out
			}
			if i >= len(got) || !reflect.DeepEqual(strip(got[i]), strip(want)) {
				t.Errorf("%s: window %d is prompted with %v, want %v", tt.name, i, got[i:min(i+1, len(got))], want)
			}
		}
	}
	if _, err := newScripted(scripted{tok: tok}, 3000, 448, Options{Language: "en", Prefix: strings.Repeat("word ", 200)}); err == nil {
		t.Error("a prefix that leaves no room is taken")
	}
}
