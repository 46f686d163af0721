package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"verity/decoder"
	"verity/encoder"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcript"
)

// A rig is a decoder over one window, with everything that a session needs.
type rig struct {
	d     *decoder.Decoder
	tok   *tokenizer.Tokenizer
	gen   model.Generation
	audio Window
	cross *decoder.Cross
	light *decoder.Decoder // the same in int8
	rules decoder.Repetition
	terms *decoder.TermBias
	top   decoder.Sampling // its TopK and TopP
	limit int              // tokens; 0 means 24
}

func newRig(t testing.TB, spec string, threads int, format precision.Format) *rig {
	t.Helper()
	c, err := model.OpenFS(testmodel.FS(testmodel.Named(spec)), spec)
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(threads)
	t.Cleanup(pool.Close)
	d, err := decoder.New(c, decoder.Options{Pool: pool, Precision: precision.Of(format)})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(c.FS(), spec, c.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	m, rng := c.Dims, rand.New(rand.NewPCG(8, 9))
	f := &encoder.Features{Positions: m.AudioPositions, Width: m.AudioWidth, Data: make([]float32, m.AudioPositions*m.AudioWidth)}
	for i := range f.Data {
		f.Data[i] = float32(rng.NormFloat64())
	}
	r := &rig{d: d, tok: tok, gen: c.Generation, audio: Window{Features: f}}
	if r.light, err = decoder.New(c, decoder.Options{Pool: pool, Precision: precision.Of(precision.Int8)}); err != nil {
		t.Fatal(err)
	}
	if r.cross, err = d.Cross(t.Context(), f, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) options(temperature float32) decoder.SessionOptions {
	return decoder.SessionOptions{
		Prompt:   []tokenizer.Token{r.tok.SOTPrev, 5, 6, 7, r.tok.SOT, r.tok.Languages()[0].Token, r.tok.Transcribe},
		SOT:      4,
		NoSpeech: r.tok.NoSpeech,
		Rules:    decoder.Rules(r.tok, r.gen, decoder.RuleOptions{Repetition: r.rules, Terms: r.terms}),
		Sampling: decoder.Sampling{Temperature: temperature, TopK: r.top.TopK, TopP: r.top.TopP, Seed: 11, Window: 300},
	}
}

// run decodes the window and returns the choices and the no-speech probability.
func (r *rig) run(t testing.TB, a Assistant, p Policy, temperature float32) ([]decoder.Choice, float32, transcript.Drafts) {
	t.Helper()
	var session *decoder.Session
	g := r.generate(t, a, p, temperature, func(s *decoder.Session, _ Drafter) Verifier { session = s; return s })
	return g.Choices, session.NoSpeechProb, g.Stats.Drafts
}

// generate decodes the window with a verifier of its session.
func (r *rig) generate(
	t testing.TB, a Assistant, p Policy, temperature float32, verifier func(*decoder.Session, Drafter) Verifier,
) Result {
	t.Helper()
	o := r.options(temperature)
	s, err := r.d.NewSession(r.cross, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := a.Open(r.audio)
	defer l.Close()
	l.Begin(o, p)
	g, err := Generate(t.Context(), verifier(s, l), l, Options{EOT: r.tok.EOT, Limit: min(cmp.Or(r.limit, 24), s.Limit()), Policy: p})
	if err := errors.Join(err, g.ProposerErr); err != nil {
		t.Fatalf("%T: %v", a, err)
	}
	return g
}

// A babbler drafts anything: text, timestamps, end-of-text, out of order.
type babbler struct {
	None
	rng *rand.Rand
	r   *rig
}

func (b *babbler) Open(Window) Drafter { return b }
func (b *babbler) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	stamp := b.r.tok.TimestampBegin + Token(b.rng.IntN(50))
	kinds := []Token{b.r.tok.EOT, stamp, Token(b.rng.IntN(1000)), b.r.tok.SOT}
	for range b.rng.IntN(limit + 1) {
		dst = append(dst, kinds[b.rng.IntN(len(kinds))])
	}
	return dst, nil
}

// A fixed drafts one token over and over.
type fixed struct {
	babbler
	token Token
}

func (f *fixed) Open(Window) Drafter { return f }
func (f *fixed) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	return append(dst, slices.Repeat([]Token{f.token}, limit)...), nil
}

func (r *rig) assistants() map[string]Assistant {
	self := &Model{Decoder: r.d, EOT: r.tok.EOT}
	return map[string]Assistant{
		"self":       self,
		"int8":       &Model{Decoder: r.light, EOT: r.tok.EOT},
		"ngram":      &NGram{EOT: r.tok.EOT, Shortest: 1},
		"bigram":     &Bigram{EOT: r.tok.EOT},
		"random":     &babbler{rng: rand.New(rand.NewPCG(1, 1)), r: r},
		"always-eot": &fixed{token: r.tok.EOT},
		"never-eot":  &fixed{token: 100},
		"one-stamp":  &fixed{token: r.tok.TimestampBegin + 3},
	}
}

// TestLossless tests the main guarantee on a real network: tokens, log-probabilities and
// no-speech probability have the same bits with any assistant, draft length, temperature,
// thread count and precision.
func TestLossless(t *testing.T) {
	temperatures, lengths := []float32{0, 0.4, 1}, []int{1, 2, 5, 8}
	if testing.Short() {
		temperatures, lengths = []float32{0, 1}, []int{2, 5}
	}
	for threads, format := range map[int]precision.Format{1: precision.F32, 2: precision.F16} {
		plain := newRig(t, "odd", 1, format)
		r := newRig(t, "odd", threads, format)
		for _, temperature := range temperatures {
			want, silence, _ := plain.run(t, None{}, Constant(0), temperature)
			if len(want) < 5 {
				t.Fatalf("plain decoding gave %d tokens; the test model is too dull to test with", len(want))
			}
			for name, a := range r.assistants() {
				for _, n := range lengths {
					got, s, stats := r.run(t, a, Constant(n), temperature)
					at := fmt.Sprintf("%s, drafts of %d, T=%v, %d threads, %v", name, n, temperature, threads, format)
					if !slices.EqualFunc(got, want, sameBits) || math.Float32bits(s) != math.Float32bits(silence) {
						t.Fatalf("%s: %v, no speech %v\nwant %v, no speech %v", at, got, s, want, silence)
					}
					checkStats(t, at, name, stats, len(want))
				}
			}
		}
	}
}

// TestLosslessProcessors is the same with terms and with the rules and filters of transformers, each
// alone and all together.
func TestLosslessProcessors(t *testing.T) {
	base := newRig(t, "odd", 2, precision.F16)
	usual, _, _ := base.run(t, None{}, Constant(0), 0.4)
	terms, err := decoder.NewTermBias(base.tok, []decoder.Term{
		{Text: base.tok.Decode([]Token{500, 600, 700}), Weight: 10}, {Text: base.tok.Decode([]Token{500, 601}), Weight: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]struct {
		rules decoder.Repetition
		top   decoder.Sampling
		terms *decoder.TermBias
	}{
		"terms":      {terms: terms},
		"penalty":    {rules: decoder.Repetition{Penalty: 1.5}},
		"no repeat":  {rules: decoder.Repetition{NoRepeat: 1}},
		"min tokens": {rules: decoder.Repetition{MinTokens: 24}},
		"max tokens": {rules: decoder.Repetition{MaxTokens: 7}},
		"top-k":      {top: decoder.Sampling{TopK: 2}},
		"top-p":      {top: decoder.Sampling{TopP: 0.2}},
		"all":        {decoder.Repetition{Penalty: 1.3, NoRepeat: 2, MinTokens: 20}, decoder.Sampling{TopK: 50, TopP: 0.9}, terms},
	} {
		r := *base
		r.rules, r.top, r.terms = o.rules, o.top, o.terms
		for _, temperature := range []float32{0, 0.4} {
			want, _, _ := r.run(t, None{}, Constant(0), temperature)
			if temperature > 0 && slices.EqualFunc(want, usual, sameBits) {
				t.Errorf("%s: text as without it; nothing is tested", name)
			}
			for who, a := range r.assistants() {
				if name != "all" && who != "random" {
					continue
				}
				got, _, stats := r.run(t, a, Constant(5), temperature)
				at := fmt.Sprintf("%s, %s, T=%v", name, who, temperature)
				if !slices.EqualFunc(got, want, sameBits) {
					t.Fatalf("%s: %v\nwant %v", at, got, want)
				}
				checkStats(t, at, who, stats, len(want))
			}
		}
	}
}

// checkStats makes sure that drafts were made and counted.
func checkStats(t *testing.T, at, name string, s transcript.Drafts, kept int) {
	t.Helper()
	if s.Tokens != kept || name != "ngram" && name != "bigram" && s.Drafted == 0 {
		t.Errorf("%s: stats %+v, want %d kept and something drafted", at, s, kept)
	}
	if name == "self" && s.Accepted != s.Drafted {
		t.Errorf("%s: %d of %d accepted; the same model with the same noise must agree with itself", at, s.Accepted, s.Drafted)
	}
}

func sameBits(a, b decoder.Choice) bool {
	return a.Token == b.Token && math.Float32bits(a.LogProb) == math.Float32bits(b.LogProb)
}

// TestFewPositions: an assistant with fewer positions than the target drafts as far as it can. Transformers drafted
// past its table.
func TestFewPositions(t *testing.T) {
	small, r := newRig(t, "odd", 1, precision.F32), newRig(t, "f16", 1, precision.F16) // 64 positions and 448
	r.audio, r.limit = small.audio, 2*small.d.Dims().TextPositions
	want, _, _ := r.run(t, None{}, Constant(0), 0.4)
	got, _, s := r.run(t, &Model{Decoder: small.d, EOT: r.tok.EOT}, Constant(8), 0.4)
	if !slices.EqualFunc(got, want, sameBits) || len(got) <= small.d.Dims().TextPositions {
		t.Errorf("%v\nwant %v", got, want)
	}
	if s.Drafted == 0 || s.Drafted > 8*small.d.Dims().TextPositions {
		t.Errorf("%+v: want drafts as far as the assistant has positions", s)
	}
}
