package decoder

import (
	"strings"
	"testing"

	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

func session(t testing.TB, d *Decoder, tok *tokenizer.Tokenizer) *Session {
	t.Helper()
	c, err := d.Cross(t.Context(), features(d, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewSession(c, SessionOptions{
		Prompt: []tokenizer.Token{tok.SOT, tok.Languages()[0].Token, tok.Transcribe}, NoSpeech: tok.NoSpeech,
		Rules: Rules(tok, model.Generation{}, RuleOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A round in the steady state allocates nothing, with and without a draft.
func TestRoundAllocates(t *testing.T) {
	if testmodel.Race {
		t.Skip("needs a run without the race detector: it allocates, and empties pools at random")
	}
	for _, format := range []precision.Format{precision.F32, precision.F16, precision.Int8} {
		pool := parallel.New(2)
		defer pool.Close()
		d := open(t, "odd", Options{Pool: pool, Precision: precision.Of(format)})
		for name, draft := range map[string][]tokenizer.Token{"no draft": nil, "a draft": {5, 6, 7}} {
			s := session(t, d, multilingual(t))
			round := func() {
				choices, err := s.Choose(t.Context(), draft)
				if err != nil {
					t.Fatal(err)
				}
				kept := [1]tokenizer.Token{choices[0].Token}
				if err := s.Commit(kept[:]); err != nil {
					t.Fatal(err)
				}
			}
			round() // the first one makes the buffers
			if n := testing.AllocsPerRun(20, round); n >= 1 {
				t.Errorf("%v, %s: %v allocations a round, want none", format, name, n)
			}
			s.Close()
		}
	}
}

// TestEnd: after text that ends with the sound, End makes the choice of a pass, and at no other place.
func TestEnd(t *testing.T) {
	d, tok := open(t, "odd", Options{}), multilingual(t)
	s := session(t, d, tok)
	defer s.Close()
	b := tok.TimestampBegin
	rule := EndOfSound{EOT: tok.EOT, TimestampBegin: b, Last: b + 100, Near: b + 80}
	s.o.Rules = append([]Rule{rule}, s.o.Rules...)
	text := []tokenizer.Token{b, 5, b + 79, b + 79, 6, b + 80}
	for i, token := range text {
		if c, ended := s.End(); ended {
			t.Errorf("after %v: got %v, want none", text[:i], c)
		}
		if _, err := s.Choose(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit([]tokenizer.Token{token}); err != nil {
			t.Fatal(err)
		}
	}
	got, ended := s.End()
	want, err := s.Choose(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !ended || got != want[0] || got.Token != tok.EOT {
		t.Errorf("got %v, %v, want %v", got, ended, want[0])
	}
}

func TestCommitChecks(t *testing.T) {
	d := open(t, "odd", Options{})
	s := session(t, d, multilingual(t))
	if _, err := s.Choose(t.Context(), []tokenizer.Token{5, 6}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit([]tokenizer.Token{5, 9, 9}); err == nil || !strings.Contains(err.Error(), "only 1 were drafted") {
		t.Errorf("error %v, want one about what was drafted", err)
	}
}

func TestSessionErrors(t *testing.T) {
	d := open(t, "odd", Options{})
	c := cross(t, d, 1)
	long := make([]tokenizer.Token, d.Dims().TextPositions)
	for name, o := range map[string]SessionOptions{
		"no prompt":   {NoSpeech: -1},
		"long prompt": {NoSpeech: -1, Prompt: long},
		"sot outside": {NoSpeech: 3, Prompt: []tokenizer.Token{1}, SOT: 1},
	} {
		if _, err := d.NewSession(c, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	all := make([]tokenizer.Token, d.Dims().Vocab)
	for i := range all {
		all[i] = tokenizer.Token(i)
	}
	s, err := d.NewSession(c, SessionOptions{Prompt: []tokenizer.Token{1}, NoSpeech: -1, Rules: []Rule{suppress{all}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Choose(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "every token is forbidden") {
		t.Errorf("error %v, want one that says nothing is left", err)
	}
}

// The limit is upstream's sample length, and what the position table has room for.
func TestLimit(t *testing.T) {
	d := open(t, "odd", Options{}) // 61 positions
	c := cross(t, d, 1)
	for _, tt := range []struct{ prompt, sample, want int }{{3, 0, 30}, {3, 7, 7}, {50, 0, 12}, {60, 0, 2}} {
		s, err := d.NewSession(c, SessionOptions{Prompt: make([]tokenizer.Token, tt.prompt), NoSpeech: -1, SampleLen: tt.sample})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Limit(); got != tt.want {
			t.Errorf("prompt of %d, sample length %d: limit %d, want %d", tt.prompt, tt.sample, got, tt.want)
		}
	}
}
