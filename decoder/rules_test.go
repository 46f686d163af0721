package decoder

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"verity/model"
	"verity/tokenizer"
)

func multilingual(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestTimestampRules checks the effect of the rules: which kinds of token are left at a
// position. The cases follow upstream's comments; equality with upstream's numbers is
// tested by the greedy goldens.
func TestTimestampRules(t *testing.T) {
	tok := multilingual(t)
	b, text := tok.TimestampBegin, tokenizer.Token(1000)
	tests := []struct {
		name    string
		sampled []tokenizer.Token
		text    bool // whether text is left
		eot     bool
		stamps  [2]int // first and last timestamp left, in steps; -1 for none
		why     string
	}{
		{"start", nil, false, false, [2]int{0, 50}, "the first token is a timestamp of at most 1 s"},
		{"after first", []tokenizer.Token{b}, true, true, [2]int{-1, -1}, "a first timestamp counts as a pair"},
		{"after text", []tokenizer.Token{b, text}, true, true, [2]int{1, 1500}, "an end lies behind the start"},
		{"half pair", []tokenizer.Token{b, text, b + 40}, false, true, [2]int{40, 1500}, "the next start may equal the end"},
		{"pair", []tokenizer.Token{b, text, b + 40, b + 40}, true, true, [2]int{-1, -1}, "text follows a pair"},
		{"second segment", []tokenizer.Token{b, text, b + 40, b + 45, text}, true, true, [2]int{46, 1500}, "time does not run back"},
		{"end of window", []tokenizer.Token{b, text, b + 1500, b + 1500, text}, true, true, [2]int{-1, -1}, "no timestamp is left after the last"},
	}
	rule := Rules(tok, model.Generation{}, RuleOptions{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			logits := make([]float32, 51865)
			logits[text], logits[tok.EOT] = 20, 20 // so that the last rule does not fire
			for _, r := range rule {
				r.Apply(logits, tt.sampled, 0)
			}
			first, last := -1, -1
			for i, l := range logits[b:] {
				if l > negInf {
					last = i
					if first < 0 {
						first = i
					}
				}
			}
			if got := [2]int{first, last}; got != tt.stamps {
				t.Errorf("timestamps left: got %v, want %v: %s", got, tt.stamps, tt.why)
			}
			if got := logits[text] > negInf; got != tt.text {
				t.Errorf("text left: got %v, want %v: %s", got, tt.text, tt.why)
			}
			if got := logits[tok.EOT] > negInf; got != tt.eot {
				t.Errorf("end-of-text left: got %v, want %v: %s", got, tt.eot, tt.why)
			}
		})
	}
}

// TestEndOfSound: no time is later than the sound, and text that ends with it is the last.
func TestEndOfSound(t *testing.T) {
	tok := multilingual(t)
	b, text := tok.TimestampBegin, tokenizer.Token(1000)
	rule := EndOfSound{EOT: tok.EOT, TimestampBegin: b, Last: b + 100, Near: b + 80}
	for _, tt := range []struct {
		sampled []tokenizer.Token
		left    int // tokens that are not forbidden
	}{
		{nil, int(b) + 101},
		{[]tokenizer.Token{b + 90}, int(b) + 101}, // a start
		{[]tokenizer.Token{b, text, b + 79}, int(b) + 101},
		{[]tokenizer.Token{b, text, b + 80}, 1},
		{[]tokenizer.Token{b, text, b + 60, b + 90}, int(b) + 101}, // a start
	} {
		logits := make([]float32, 51865)
		rule.Apply(logits, tt.sampled, 0)
		left := 0
		for _, l := range logits {
			if l == 0 {
				left++
			}
		}
		if left != tt.left || logits[tok.EOT] != 0 {
			t.Errorf("%v: %d tokens left, want %d with end-of-text", tt.sampled, left, tt.left)
		}
	}
}

// TestMaxInitialTimestamp checks the latest first timestamp that is left, in steps, and
// that the limit is only for the first one.
func TestMaxInitialTimestamp(t *testing.T) {
	tok := multilingual(t)
	b, text := tok.TimestampBegin, tokenizer.Token(1000)
	for _, tt := range []struct {
		limit   float64
		sampled []tokenizer.Token
		want    int
	}{
		{0, nil, 50}, {0.5, nil, 25}, {2, nil, 100}, {math.Inf(1), nil, 1500},
		{0.5, []tokenizer.Token{b, text}, 1500},
	} {
		logits := make([]float32, 51865)
		for _, r := range Rules(tok, model.Generation{}, RuleOptions{MaxInitialTimestamp: tt.limit}) {
			r.Apply(logits, tt.sampled, 0)
		}
		last := -1
		for i, l := range logits[b:] {
			if l > negInf {
				last = i
			}
		}
		if last != tt.want {
			t.Errorf("limit of %v s behind %v: timestamps up to %d are left, want %d", tt.limit, tt.sampled, last, tt.want)
		}
	}
}

// Many small timestamps together outweigh one larger text token.
func TestTimestampMass(t *testing.T) {
	tok := multilingual(t)
	for _, tt := range []struct {
		text float32
		want bool
	}{{7, false}, {8, true}} { // log(1500) is about 7.3
		logits := make([]float32, 51865)
		for i := range logits[:tok.TimestampBegin] {
			logits[i] = -30
		}
		logits[1000] = tt.text
		for _, r := range Rules(tok, model.Generation{}, RuleOptions{}) {
			r.Apply(logits, []tokenizer.Token{tok.TimestampBegin, 1000}, 0)
		}
		if got := logits[1000] > negInf; got != tt.want {
			t.Errorf("text at logit %v among 1500 timestamps at 0: left %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestSuppressOptions(t *testing.T) {
	tok := multilingual(t)
	dash := tok.NonSpeech()[0]
	tests := []struct {
		name       string
		g          model.Generation
		o          RuleOptions
		mark, sot  bool // whether the non-speech mark and <|startoftranscript|> are left
		token42    bool
		blankFirst bool
		why        string
	}{
		{"openai", model.Generation{}, RuleOptions{}, false, false, true, false, "no list in the checkpoint: openai's"},
		{"checkpoint", model.Generation{SuppressTokens: []int32{42}}, RuleOptions{}, true, true, false, false, "the checkpoint's list, as it is"},
		{"asked", model.Generation{SuppressTokens: []int32{7}}, RuleOptions{SuppressTokens: []tokenizer.Token{42}}, true, false, false, false, "asked for, and specials"},
		{"off", model.Generation{}, RuleOptions{SuppressTokens: []tokenizer.Token{}}, true, true, true, false, "empty turns it off, specials included, but a blank first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.WithoutTimestamps = true
			logits := make([]float32, 51865)
			for _, r := range Rules(tok, tt.g, tt.o) {
				r.Apply(logits, nil, 0)
			}
			got := []bool{logits[dash] > negInf, logits[tok.SOT] > negInf, logits[42] > negInf, logits[tok.EOT] > negInf}
			if want := []bool{tt.mark, tt.sot, tt.token42, tt.blankFirst}; !slices.Equal(got, want) {
				t.Errorf("left (mark, sot, 42, eot) = %v, want %v: %s", got, want, tt.why)
			}
		})
	}
}

func ExampleRules() {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		panic(err)
	}
	rules := Rules(tok, model.Generation{}, RuleOptions{WithoutTimestamps: true})
	logits := make([]float32, 51865)
	for _, r := range rules {
		r.Apply(logits, nil, 0) // nothing sampled yet: blank is forbidden too
	}
	fmt.Println(len(rules), logits[tok.EOT], logits[1000])
	// Output: 2 -Inf 0
}
