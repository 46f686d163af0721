package decoder_test

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"testing"

	"verity/decoder"
	"verity/decoder/schedule"
	"verity/internal/testing/testmodel"
	"verity/precision"
	"verity/tokenizer"
)

//go:embed testdata/search.json
var searchJSON []byte

// A searchCase is one beam search of upstream's, by tools/reference/search_goldens.py.
type searchCase struct {
	Spec    string
	Options struct {
		BeamSize          int `json:"beam_size"`
		Patience          float64
		LengthPenalty     *float64 `json:"length_penalty"`
		WithoutTimestamps bool     `json:"without_timestamps"`
		SampleLen         int      `json:"sample_len"`
	}
	Initial, Tokens []tokenizer.Token
	AvgLogProb      float64 `json:"avg_logprob"`
	Stable          bool    // the same when the input moves by rounding
}

func searchCases(t *testing.T) (list []searchCase) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(searchJSON))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c searchCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Spec != "" {
			list = append(list, c)
		}
	}
	return list
}

func (r *rig) options(c searchCase) (decoder.SessionOptions, decoder.SearchOptions) {
	return decoder.SessionOptions{
			SampleLen: c.Options.SampleLen,
			Prompt:    c.Initial, SOT: slices.Index(c.Initial, r.tok.SOT), NoSpeech: r.tok.NoSpeech,
			Rules: decoder.Rules(r.tok, r.c.Generation, decoder.RuleOptions{WithoutTimestamps: c.Options.WithoutTimestamps}),
		}, decoder.SearchOptions{
			EOT: r.tok.EOT, Beams: c.Options.BeamSize, Patience: c.Options.Patience, LengthPenalty: c.Options.LengthPenalty,
		}
}

// meanLogProb returns the tokens of a hypothesis without end-of-text, and what upstream
// calls avg_logprob.
func meanLogProb(h decoder.Hypothesis, eot tokenizer.Token) (tokens []tokenizer.Token, mean float64) {
	for _, c := range h.Choices {
		mean += float64(c.LogProb)
		if c.Token != eot {
			tokens = append(tokens, c.Token)
		}
	}
	return tokens, mean / float64(len(tokens)+1)
}

// TestBeamsGolden searches as openai/whisper does, wherever upstream's own search does
// not depend on rounding: beam sizes, patience, length penalties, a prompt, a prefix.
func TestBeamsGolden(t *testing.T) {
	testmodel.Serial(t)
	if slow() {
		t.Skip("needs assembly: beams choose among logits, which TestLogitsGolden holds")
	}
	rigs, compared, fewest := map[string]*rig{}, 0, 12
	for _, c := range searchCases(t) {
		r := rigs[c.Spec]
		if r == nil {
			r = newRig(t, setting{c.Spec, precision.F32})
			rigs[c.Spec] = r
		}
		cross := r.crossOf(t, "mel")
		o, w := r.options(c)
		found, err := r.dec.Search(t.Context(), cross, o, w)
		cross.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hypotheses) < c.Options.BeamSize && c.Options.Patience >= 1 {
			t.Errorf("%s %+v: %d hypotheses", c.Spec, c.Options, len(found.Hypotheses))
		}
		if !c.Stable {
			continue
		}
		compared++
		tokens, mean := meanLogProb(found.Hypotheses[0], r.tok.EOT)
		if !slices.Equal(tokens, c.Tokens) {
			t.Errorf("%s %+v: tokens\n%v, want\n%v", c.Spec, c.Options, tokens, c.Tokens)
		} else if d := math.Abs(mean - c.AvgLogProb); !(d <= 2*r.ref.LogitTol("mel")) {
			t.Errorf("%s %+v: mean log-probability %v, want %v", c.Spec, c.Options, mean, c.AvgLogProb)
		}
	}
	if compared < fewest {
		t.Errorf("%d searches compared, too few to mean anything", compared)
	}
}

// TestSearchAlone checks that a search finds the same, bit for bit, in a batch with
// others, that its sequences are in order, and that samples are those that sessions draw
// one by one.
func TestSearchAlone(t *testing.T) {
	c := searchCases(t)[2]
	r := newRig(t, setting{c.Spec, precision.F32})
	cross := r.crossOf(t, "mel")
	for name, change := range map[string]func(*decoder.SessionOptions, *decoder.SearchOptions){
		"beams": func(*decoder.SessionOptions, *decoder.SearchOptions) {},
		"samples": func(o *decoder.SessionOptions, w *decoder.SearchOptions) {
			w.Beams, w.Samples, o.Sampling.Temperature = 0, 4, 0.8
		},
	} {
		o, w := r.options(c)
		o.SampleLen = 20
		change(&o, &w)
		run := func(ctx context.Context, o decoder.SessionOptions) []decoder.Hypothesis {
			found, err := r.dec.Search(ctx, cross, o, w)
			if err != nil {
				t.Error(err)
				return nil
			}
			return found.Hypotheses
		}
		want := run(t.Context(), o)
		if !slices.IsSortedFunc(want, func(a, b decoder.Hypothesis) int { return int(math.Copysign(1, b.Score-a.Score)) }) {
			t.Errorf("%s: not the best first", name)
		}
		b := schedule.New(r.dec)
		var wg sync.WaitGroup
		for _, m := range []*schedule.Member{b.Join(), b.Join(), b.Join()} {
			wg.Go(func() {
				defer m.Leave()
				o := o
				o.Runner = m
				for i, h := range run(t.Context(), o) {
					if i >= len(want) || h.Score != want[i].Score || !slices.Equal(h.Choices, want[i].Choices) {
						t.Errorf("%s: hypothesis %d differs in a batch", name, i)
					}
				}
			})
		}
		wg.Wait()
		if name == "samples" {
			r.checkSamples(t, cross, o, want)
		}
	}
}

// checkSamples draws each sequence by a session of its own.
func (r *rig) checkSamples(t *testing.T, cross *decoder.Cross, o decoder.SessionOptions, want []decoder.Hypothesis) {
	t.Helper()
	o.Runner = nil
	for i := range want {
		o.Sampling.Sample = i
		s, err := r.dec.NewSession(cross, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []decoder.Choice
		for len(got) < 20 && (len(got) == 0 || got[len(got)-1].Token != r.tok.EOT) {
			choices, err := s.Choose(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, choices[0])
			if err := s.Commit([]tokenizer.Token{choices[0].Token}); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if !slices.ContainsFunc(want, func(h decoder.Hypothesis) bool { return slices.Equal(h.Choices, got) }) {
			t.Errorf("sample %d of a session is not among those of the search", i)
		}
	}
}
