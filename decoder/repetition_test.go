package decoder

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"verity/tokenizer"
)

// A processed is a case of transformers' logits processors.
type processed struct {
	Options struct {
		Penalty     float32 `json:"penalty"`
		NoRepeat    int     `json:"no_repeat"`
		MinTokens   int     `json:"min_tokens"`
		Temperature float32 `json:"temperature"`
		TopK        int     `json:"top_k"`
		TopP        float32 `json:"top_p"`
	} `json:"options"`
	Begin  int               `json:"begin"`
	Seen   []tokenizer.Token `json:"seen"`
	Logits []float32         `json:"logits"`
	Want   []*float32        `json:"want"` // nil is -Inf
}

// TestProcessorsGolden compares the rules of Repetition, and what TopK and TopP leave,
// with transformers' processors: the same bits, since each is one operation.
func TestProcessorsGolden(t *testing.T) {
	f, err := os.Open("testdata/processors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	var head struct {
		Source string
		EOT    tokenizer.Token
	}
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; lines.Scan(); n++ {
		var c processed
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(c.Logits)
		for _, r := range (Repetition{c.Options.Penalty, c.Options.NoRepeat, c.Options.MinTokens, 0}).rules(head.EOT) {
			r.Apply(got, c.Seen, c.Begin)
		}
		if temperature := c.Options.Temperature; temperature > 0 {
			pick := Sampling{Temperature: temperature, TopK: c.Options.TopK, TopP: c.Options.TopP}.chooser()
			last := pick.lastRank(got)
			for i, l := range got {
				got[i] = l / temperature
				if rank(l, i) > last {
					got[i] = negInf
				}
			}
		}
		for i, want := range c.Want {
			if want == nil && got[i] != negInf || want != nil && got[i] != *want {
				t.Errorf("%+v: logit %d = %v, want %v of %s", c.Options, i, got[i], c.Want[i], head.Source)
			}
		}
	}
	if err := lines.Err(); err != nil || n < 50 {
		t.Errorf("%d cases (%v), want 50 or more", n, err)
	}
}

// Among equals the lowest id is likelier, and zeros are equal.
func TestTopTies(t *testing.T) {
	minusZero := float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		logits []float32
		s      Sampling
		want   []tokenizer.Token
	}{
		{[]float32{1, 1, 1, 1}, Sampling{TopK: 2}, []tokenizer.Token{0, 1}},
		{[]float32{1, 1, 1, 1}, Sampling{TopP: 0.7}, []tokenizer.Token{0, 1, 2}},
		{[]float32{minusZero, 0, -1}, Sampling{TopK: 1}, []tokenizer.Token{0}},
		{[]float32{-1, negInf, 0, 1}, Sampling{TopK: 3}, []tokenizer.Token{0, 2, 3}},
		{[]float32{0, 1, 2}, Sampling{TopK: 9, TopP: 1}, []tokenizer.Token{0, 1, 2}},
	} {
		tt.s.Temperature = 1
		c, came := tt.s.chooser(), make([]bool, len(tt.logits))
		for p := range 1000 {
			came[c.choose(tt.logits, p)] = true
		}
		var got []tokenizer.Token
		for i, yes := range came {
			if yes {
				got = append(got, tokenizer.Token(i))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v, %+v: chosen %v, want %v", tt.logits, tt.s, got, tt.want)
		}
	}
}

// Rules that leave nothing are an error at a position that decoding reaches, not after a
// draft.
func TestForbiddenBehindDraft(t *testing.T) {
	d, tok := open(t, "odd", Options{}), multilingual(t)
	only := make([]tokenizer.Token, 0, d.Dims().Vocab)
	for i := range tokenizer.Token(d.Dims().Vocab) {
		if i != 9 {
			only = append(only, i)
		}
	}
	s, err := d.NewSession(cross(t, d, 1), SessionOptions{
		Prompt: []tokenizer.Token{tok.SOT}, NoSpeech: -1,
		Rules: append(Repetition{NoRepeat: 1}.rules(tok.EOT), suppress{only}),
	})
	if err != nil {
		t.Fatal(err)
	}
	choices, err := s.Choose(t.Context(), []tokenizer.Token{9})
	if err != nil {
		t.Fatal(err)
	}
	if choices[0].Token != 9 || choices[1].Token != tokenizer.None {
		t.Errorf("choices %v, want 9 and none", choices)
	}
	if err := s.Commit([]tokenizer.Token{9, tokenizer.None}); !errors.Is(err, ErrForbidden) {
		t.Errorf("commit of none: %v, want ErrForbidden", err)
	}
}

// TestMaxTokens: after n tokens only end-of-text is possible, so a window has n at most, and MinTokens as many at least.
func TestMaxTokens(t *testing.T) {
	const eot, begin = 2, 1
	rules := Repetition{MinTokens: 2, MaxTokens: 2}.rules(eot)
	for chosen, want := range []([]bool){{true, true, false, true}, {true, true, false, true}, {false, false, true, false}, {false, false, true, false}} {
		logits := make([]float32, 4)
		for _, r := range rules {
			r.Apply(logits, make([]tokenizer.Token, begin+chosen), begin)
		}
		for i, l := range logits {
			if possible := l != negInf; possible != want[i] {
				t.Errorf("after %d tokens: token %d possible is %v, want %v", chosen, i, possible, want[i])
			}
		}
	}
}
