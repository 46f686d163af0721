package decoder

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"verity/model"
	"verity/tokenizer"
)

// TestTermBias: which tokens become likelier, and by how much, after some text.
func TestTermBias(t *testing.T) {
	tok := multilingual(t)
	stamp := tok.TimestampBegin
	tests := []struct {
		name  string
		terms []Term
		after string
		want  map[string]float32 // bias of each token of the next text
	}{
		{"begins", []Term{{Text: "Chanteloup"}}, "", map[string]float32{" Ch": beginBias, "Ch": beginBias}},
		{"continues a term", []Term{{Text: "Chanteloup"}}, " the Ch", map[string]float32{"ant": continueBias, " Ch": beginBias}},
		{"a second time", []Term{{Text: "Chanteloup"}}, " Chanteloup", map[string]float32{" Ch": beginBias}},
		{"not within a word", []Term{{Text: "Ann"}}, " Pl", map[string]float32{" Ann": beginBias}},
		{"after a bracket", []Term{{Text: "Ann"}}, " (", map[string]float32{" Ann": beginBias, "Ann": beginBias}},
		{"a capital", []Term{{Text: "sagamore"}}, "", map[string]float32{" sag": beginBias, " Sag": beginBias, "sag": beginBias, "S": beginBias}},
		{"weight", []Term{{Text: "Ann", Weight: 2.5}}, " a", map[string]float32{" Ann": 2.5 * beginBias}},
		{"the larger weight", []Term{{Text: "Ann", Weight: 2}, {Text: "Ann"}}, " a", map[string]float32{" Ann": 2 * beginBias}},
		{"no bias", []Term{{Text: "Bob", Weight: -1}, {Text: "Ann"}}, " a", map[string]float32{" Ann": beginBias}},
		{"one term ends in another", []Term{{Text: "New York"}, {Text: "York"}}, " New",
			map[string]float32{" York": max(beginBias, continueBias), " New": beginBias}},
		{"not after a vowel sign", []Term{{Text: "Ann"}}, " रा", map[string]float32{" Ann": beginBias}},
		{"after a quotation mark of several tokens", []Term{{Text: "Ann"}}, " ⟪", map[string]float32{" Ann": beginBias, "Ann": beginBias}},
		{"unspaced", []Term{{Text: "東京"}}, "は", map[string]float32{"東": beginBias, " ": beginBias}},
	}
	for _, tt := range tests {
		rule, err := NewTermBias(tok, tt.terms)
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range [][]tokenizer.Token{{tok.SOT}, append([]tokenizer.Token{tok.SOTPrev}, tok.Encode(" Ch New (")...)} {
			seen := append(append(slices.Clone(prompt), stamp), tok.Encode(tt.after)...)
			logits := make([]float32, tok.Size())
			rule.Apply(logits, seen, len(prompt))
			for id, got := range logits {
				text := string(tok.Bytes(tokenizer.Token(id)))
				want, ok := tt.want[text]
				if ok && got != want && len(tok.Encode(text)) == 1 || !ok && got != 0 && tt.name != "a capital" && tt.name != "unspaced" {
					t.Errorf("%s: %q: got bias %v, want %v", tt.name, text, got, want)
				}
			}
		}
	}
	if _, err := NewTermBias(tok, []Term{{Text: "\xff\xfe"}}); err != nil {
		t.Errorf("a vocabulary with every byte: %v", err)
	}
	if rule, err := NewTermBias(tok, []Term{{Text: "Ann", Weight: -1}}); rule != nil || err != nil {
		t.Errorf("terms without bias: %v, %v", rule, err)
	}
}

// TestTermBiasReference compares with the definition: over all spellings, the largest bias of a token that continues
// one of them.
func TestTermBiasReference(t *testing.T) {
	tok, rng := multilingual(t), rand.New(rand.NewPCG(5, 47))
	words := []string{"an", "Ann", "New", "York", "the", "Yorkshire", "anode", "node", "(", "京", "東京", "ode", "राम", "ा", "⟪", "é"}
	text := func(n int) string {
		var list []string
		for range 1 + rng.IntN(n) {
			list = append(list, words[rng.IntN(len(words))])
		}
		return strings.Join(list, []string{" ", "", "-"}[rng.IntN(3)])
	}
	hits := 0
	for range 60 {
		var terms []Term
		for range 1 + rng.IntN(4) {
			terms = append(terms, Term{text(3), float64(rng.IntN(4))})
		}
		rule, err := NewTermBias(tok, terms)
		if err != nil {
			t.Fatal(err)
		}
		seen := append([]tokenizer.Token{tok.SOT, tok.TimestampBegin}, tok.Encode(" "+text(8))...)
		seen = seen[:2+rng.IntN(len(seen)-1)]
		got, want := make([]float32, tok.Size()), make([]float32, tok.Size())
		rule.Apply(got, seen, 1)
		for _, term := range terms {
			expectBias(tok, want, seen[1:], term)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v after %q: the bias differs", terms, tok.Decode(seen))
		}
		for _, b := range want {
			if b == continueBias || b == 2*continueBias || b == 3*continueBias {
				hits++
			}
		}
	}
	if hits < 6 {
		t.Errorf("%d tokens continue a term: nothing was put to the test", hits)
	}
}

// expectBias raises want to the bias of one term.
func expectBias(tok *tokenizer.Tokenizer, want []float32, chosen []tokenizer.Token, term Term) {
	weight := float32(max(term.Weight, 0))
	if weight == 0 {
		weight = 1
	}
	first, size := utf8.DecodeRuneInString(term.Text)
	for _, s := range []string{term.Text, string(unicode.ToTitle(first)) + term.Text[size:]} {
		for _, space := range []string{" ", ""} {
			spelling := tok.Encode(space + s)
			for n := range spelling {
				from := len(chosen) - n
				if from < 0 || !slices.Equal(chosen[from:], spelling[:n]) {
					continue
				}
				if space == "" && !tokenizer.IsUnspaced(first) && from > 0 {
					var text []byte
					for _, t := range chosen[:from] {
						text = append(text, tok.Bytes(t)...)
					}
					before, _ := utf8.DecodeLastRune(text)
					begins := len(tok.Bytes(chosen[from-1])) == 0 // a timestamp
					if !begins && (unicode.In(before, unicode.Letter, unicode.Digit, unicode.Mark) || before == utf8.RuneError) {
						continue
					}
				}
				bias := weight * beginBias
				if n > 0 {
					bias = weight * continueBias
				}
				want[spelling[n]] = max(want[spelling[n]], bias)
			}
		}
	}
}

// TestTermBiasNodes: edges are found however many a node has, and few need no map.
func TestTermBiasNodes(t *testing.T) {
	n, tokens := termNode{}, rand.New(rand.NewPCG(1, 2)).Perm(40)
	for i, tok := range tokens {
		if got := n.find(tokenizer.Token(tok)); got >= 0 {
			t.Fatalf("token %d has edge %d before it is added", tok, got)
		}
		n.addEdge(termEdge{token: tokenizer.Token(tok)})
		for k, tok := range tokens[:i+1] {
			if got := n.find(tokenizer.Token(tok)); got != k {
				t.Fatalf("of %d edges: token %d has edge %d, want %d", i+1, tok, got, k)
			}
		}
		if (n.index == nil) != (len(n.edges) <= searchedEdges) {
			t.Fatalf("%d edges: a map of %d", len(n.edges), len(n.index))
		}
	}
}

// TestTermBiasInDevanagari: the middle of a word is not where a term begins, whether tokens end in a vowel sign or
// divide a character.
func TestTermBiasInDevanagari(t *testing.T) {
	tok := multilingual(t)
	rule, err := NewTermBias(tok, []Term{{Text: "Ann"}})
	if err != nil {
		t.Fatal(err)
	}
	ann, divided := tok.Encode("Ann")[0], 0
	word := tok.Encode(" राम")
	for n := 1; n <= len(word); n++ {
		logits := make([]float32, tok.Size())
		rule.Apply(logits, word[:n], 0)
		if text := tok.Bytes(word[n-1]); logits[ann] != 0 && string(text) != " " {
			t.Errorf("after %d of %d tokens, %q: bias %v", n, len(word), text, logits[ann])
		}
		if !utf8.Valid(tok.Bytes(word[n-1])) {
			divided++
		}
	}
	if divided == 0 {
		t.Error("no token divides a character: nothing was put to the test")
	}
}

// TestTermsFirst: the bias comes before all other rules, so what they forbid stays forbidden.
func TestTermsFirst(t *testing.T) {
	tok := multilingual(t)
	terms, err := NewTermBias(tok, []Term{{Text: "Ann", Weight: 10}})
	if err != nil {
		t.Fatal(err)
	}
	ann := tok.Encode(" Ann")[0]
	logits := make([]float32, tok.Size())
	for _, r := range Rules(tok, model.Generation{}, RuleOptions{Terms: terms, Forbidden: []tokenizer.Token{ann}}) {
		r.Apply(logits, []tokenizer.Token{tok.SOT, tok.TimestampBegin}, 1)
	}
	if logits[ann] != negInf {
		t.Errorf("a forbidden token has logit %v", logits[ann])
	}
}
