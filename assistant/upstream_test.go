package assistant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"verity/decoder"
	"verity/internal/formats/safetensors"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcript"
)

// A reader drafts from a text at the position that decoding has reached. The text is made of the
// target's own choices and of faults, so it determines what each round meets at each position.
type reader struct {
	None
	text []Token
	at   int
}

func (r *reader) Open(Window) Drafter                          { return &reader{text: r.text} }
func (r *reader) Commit(_ context.Context, kept []Token) error { r.at += len(kept); return nil }
func (r *reader) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	rest := r.text[min(r.at, len(r.text)):]
	return append(dst, rest[:min(limit, len(rest))]...), nil
}

// decode decodes the window until end, at most limit tokens.
func (r *rig) decode(t testing.TB, o decoder.SessionOptions, a Assistant, p Policy, end Token, limit int) ([]decoder.Choice, transcript.Drafts) {
	t.Helper()
	s, err := r.d.NewSession(r.cross, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := a.Open(r.audio)
	defer l.Close()
	l.Begin(o, p)
	g, err := Generate(t.Context(), s, l, Options{EOT: end, Limit: s.Limit(limit), Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.ProposerErr; err != nil {
		t.Errorf("%T: %v", a, err)
	}
	return g.Choices, g.Stats.Drafts
}

// never is not a token of any vocabulary: decoding does not end before its limit.
const never = Token(1 << 30)

func texts(choices []decoder.Choice) []Token {
	var out []Token
	for _, c := range choices {
		out = append(out, c.Token)
	}
	return out
}

func wantSame(t *testing.T, at string, got, want []decoder.Choice) {
	t.Helper()
	if !slices.EqualFunc(got, want, sameBits) {
		t.Errorf("%s: %v\nwant %v", at, got, want)
	}
}

// pairPlaces returns the positions of the second of two adjacent timestamps.
func pairPlaces(tok *tokenizer.Tokenizer, text []Token) (places []int) {
	for i := 1; i < len(text); i++ {
		if tok.IsTimestamp(text[i-1]) && tok.IsTimestamp(text[i]) {
			places = append(places, i)
		}
	}
	return places
}

// TestUpstreamBlocks tests the cases in which rounds of other programs failed, on a real
// network, at given positions in a block of drafts. The network never ends by itself, so
// a token that it is known to choose counts as the end.
func TestUpstreamBlocks(t *testing.T) {
	r := newRig(t, "odd", 1, precision.F32)
	o := r.options(0.4)
	plain, _ := r.decode(t, o, None{}, Constant(0), never, 24)
	text := texts(plain)
	// The end: the first text token after the fifth position that was not chosen before.
	k := 5
	for k < len(text) && (r.tok.IsTimestamp(text[k]) || slices.Contains(text[:k], text[k])) {
		k++
	}
	if k > len(text)-8 {
		t.Fatalf("no end to be had in %v", text)
	}
	end := text[k]
	ended, _ := r.decode(t, o, None{}, Constant(0), end, 24)
	if len(ended) != k+1 {
		t.Fatalf("plain decoding chose %d tokens to its end, want %d", len(ended), k+1)
	}
	edit := func(f func(text []Token)) *reader {
		c := slices.Clone(text)
		f(c)
		return &reader{text: c}
	}
	run := func(name string, a Assistant, block int, judge func(t *testing.T, s transcript.Drafts)) {
		t.Run(name, func(t *testing.T) {
			got, s := r.decode(t, o, a, Constant(block), end, 24)
			wantSame(t, name, got, ended)
			if s.Drafted == 0 || s.Tokens != k+1 {
				t.Errorf("%+v, want something drafted and %d kept", s, k+1)
			}
			if judge != nil {
				judge(t, s)
			}
		})
	}

	for name, place := range map[string]int{"first": 0, "middle": 2, "last": 4} {
		run("EOS drafted at the "+name+" place of a block", edit(func(c []Token) { c[place] = end }), 5, func(t *testing.T, s transcript.Drafts) {
			if s.Accepted == s.Drafted {
				t.Error("a draft of the end was accepted where the target goes on")
			}
		})
	}
	run("EOS of the target where the draft has none", edit(func(c []Token) { c[k]++ }), k+3, nil)
	// transformers#47912: the block was appended before the search for the end, which
	// checked only its last token. Worst where the target would choose the rest too.
	run("EOS inside an accepted block cuts it (transformers#47912)", edit(func([]Token) {}), k+5, func(t *testing.T, s transcript.Drafts) {
		if s.Rounds != 1 || s.Accepted != k+1 {
			t.Errorf("%+v, want one round that accepts %d", s, k+1)
		}
	})
	run("EOS as the token behind a full block", edit(func([]Token) {}), k, func(t *testing.T, s transcript.Drafts) {
		if s.Rounds != 1 || s.Accepted != k {
			t.Errorf("%+v, want one round that accepts %d", s, k)
		}
	})
	run("EOS at the start of the second block", edit(func([]Token) {}), k-1, nil)

	// transformers#47995: a rule for the first position applied at the start of every
	// block, so that the assistant could not draft the end there and wrote "Thank you.".
	t.Run("begin rules hold at the first place only (transformers#47995)", func(t *testing.T) {
		o := o
		o.Rules = decoder.Rules(r.tok, model.Generation{BeginSuppressTokens: []int32{int32(end)}}, decoder.RuleOptions{})
		want, _ := r.decode(t, o, None{}, Constant(0), end, 24)
		if len(want) != k+1 {
			t.Skipf("the end moved to %d", len(want)) // another noise would be needed
		}
		for block := 1; block <= k+1; block++ {
			got, s := r.decode(t, o, &Model{Decoder: r.d, EOT: end}, Constant(block), end, 24)
			wantSame(t, fmt.Sprint("blocks of ", block), got, want)
			if s.Accepted != s.Drafted {
				t.Errorf("blocks of %d: %d of %d accepted; the assistant is the target and must follow the same rules", block, s.Accepted, s.Drafted)
			}
		}
	})

	// Whatever the block length, each row is judged given the tokens before it.
	whole, _ := r.decode(t, o, None{}, Constant(0), never, 24)
	pairs := pairPlaces(r.tok, text)
	if len(pairs) == 0 {
		t.Fatalf("no pair of timestamps in %v", text)
	}
	everyBlock := func(t *testing.T, a Assistant) {
		for _, block := range []int{1, 2, 5, 8} {
			got, _ := r.decode(t, o, a, Constant(block), never, 24)
			wantSame(t, fmt.Sprint("blocks of ", block), got, whole)
		}
	}
	t.Run("timestamp pair split across a block boundary", func(t *testing.T) {
		everyBlock(t, &reader{text: text})
		split := pairs[0] // the draft ends with the first half
		_, s := r.decode(t, o, &reader{text: text}, Constant(split), never, 24)
		if s.Histogram[split] == 0 {
			t.Errorf("%+v: no round accepted %d tokens, the last of them half a pair", s, split)
		}
	})
	t.Run("decreasing drafted timestamp", func(t *testing.T) {
		everyBlock(t, edit(func(c []Token) {
			low := Token(0)
			for i, tok := range c {
				if r.tok.IsTimestamp(tok) && i > 0 {
					c[i] = max(r.tok.TimestampBegin, c[0]-low)
					low++
				}
			}
		}))
	})
	t.Run("lone timestamp drafted for a pair", func(t *testing.T) {
		everyBlock(t, edit(func(c []Token) { c[pairs[0]] = 1000 }))
	})
	t.Run("logsumexp rule flips inside a block", func(t *testing.T) {
		o, whole, flip := r.flip(t)
		for _, block := range []int{1, 3, 8} {
			for _, other := range []Token{whole[flip].Token, 1000} { // 1000: what the flip forbids
				draft := texts(whole)
				draft[flip] = other
				got, _ := r.decode(t, o, &reader{text: draft}, Constant(block), never, 12)
				wantSame(t, fmt.Sprint("blocks of ", block), got, whole)
			}
		}
	})
	t.Run("rows of the first block are not the prompt's (transformers _split_model_outputs)", func(t *testing.T) {
		got, s := r.decode(t, o, &reader{text: text}, Constant(8), never, 24)
		wantSame(t, "drafts that are right", got, whole)
		if s.Histogram[8] == 0 {
			t.Errorf("%+v: no full block was accepted", s)
		}
	})
}

// flip returns a window, its text, and a position in it where a timestamp was chosen only
// because timestamps together are likelier than any text: without the rules the choice
// would be text, at the same noise.
func (r *rig) flip(t *testing.T) (decoder.SessionOptions, []decoder.Choice, int) {
	t.Helper()
	for window := range 100 {
		o := r.options(0.4)
		o.Sampling.Window = window
		whole, _ := r.decode(t, o, None{}, Constant(0), never, 12)
		text := texts(whole)
		for i := 1; i < len(text); i++ {
			if !r.tok.IsTimestamp(text[i]) || r.tok.IsTimestamp(text[i-1]) {
				continue
			}
			bare := o
			bare.Rules, bare.Prompt = nil, slices.Concat(o.Prompt, text[:i])
			if c, _ := r.decode(t, bare, None{}, Constant(0), never, 1); c[0].Token < r.tok.EOT {
				return o, whole, i
			}
		}
	}
	t.Fatal("the rule decides in no window")
	return decoder.SessionOptions{}, nil, 0
}

// TestUpstreamLimits: transformers drafted past the position table of one of the
// models ("index 448 out of range" at the length limit).
func TestUpstreamLimits(t *testing.T) {
	r := newRig(t, "odd", 1, precision.F32)
	positions := r.d.Dims().TextPositions
	prompt := func(n int) decoder.SessionOptions {
		o := r.options(0.4)
		start := o.Prompt[o.SOT:]
		o.Prompt = append([]Token{r.tok.SOTPrev}, slices.Repeat([]Token{500, 501, 502}, positions)[:n-1-len(start)]...)
		o.SOT = len(o.Prompt)
		o.Prompt = append(o.Prompt, start...)
		return o
	}
	for _, tt := range []struct {
		name          string
		prompt, limit int
		tokens        int // chosen
	}{
		{"draft crossing the sample length", 7, 9, 9},
		{"draft crossing half the positions, the sample length by default", 7, 0, positions / 2},
		{"previous text of n_ctx/2-1 tokens, draft crossing n_ctx", positions/2 - 1 + 4, 0, positions - (positions/2 + 3) + 1},
		{"prompt that leaves one position", positions - 1, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := prompt(tt.prompt)
			want, _ := r.decode(t, o, None{}, Constant(0), never, tt.limit)
			if len(want) != tt.tokens {
				t.Fatalf("%d tokens, want %d", len(want), tt.tokens)
			}
			long := append(texts(want), slices.Repeat([]Token{7}, 40)...)
			for _, block := range []int{3, 20} {
				got, _ := r.decode(t, o, &reader{text: long}, Constant(block), never, tt.limit)
				wantSame(t, fmt.Sprint("drafts beyond the end, blocks of ", block), got, want)
				got, s := r.decode(t, o, &Model{Decoder: r.d, EOT: r.tok.EOT}, Constant(block), never, tt.limit)
				wantSame(t, fmt.Sprint("self, blocks of ", block), got, want)
				if s.Accepted != s.Drafted {
					t.Errorf("self, blocks of %d: %+v", block, s)
				}
			}
		})
	}
	t.Run("assistant of fewer positions than the target", func(t *testing.T) {
		target := newRig(t, "f16", 1, precision.F16) // 448 positions
		small := &Model{Decoder: r.d, EOT: r.tok.EOT}
		target.audio = r.audio
		o := target.options(0.4)
		want, _ := target.decode(t, o, None{}, Constant(0), never, 58)
		got, s := target.decode(t, o, small, Constant(8), never, 58)
		wantSame(t, "61 positions against 448", got, want)
		if s.Drafted == 0 || s.Drafted > 8*positions {
			t.Errorf("%+v: want drafts up to position %d", s, positions)
		}
		o.Prompt = append(slices.Repeat([]Token{500}, 100), r.tok.SOT)
		o.SOT = 100
		if _, s = target.decode(t, o, small, Constant(8), never, 5); s.Drafted != 0 {
			t.Errorf("a prompt that does not fit the assistant: %+v, want nothing drafted", s)
		}
	})
}

// TestUpstreamPrecisions compares an int8 target with itself in int8; its drafts may come
// from any precision.
func TestUpstreamPrecisions(t *testing.T) {
	target := newRig(t, "odd", 1, precision.Int8)
	want, _, _ := target.run(t, None{}, Constant(0), 0.4)
	for _, format := range []precision.Format{precision.Int8, precision.F16} {
		t.Run(fmt.Sprintf("int8 target with %v drafts of the same model", format), func(t *testing.T) {
			draft := newRig(t, "odd", 1, format)
			got, _, s := target.run(t, &Model{Decoder: draft.d, EOT: target.tok.EOT}, Constant(5), 0.4)
			wantSame(t, "int8", got, want)
			if s.Drafted == 0 || format == precision.Int8 && s.Accepted != s.Drafted {
				t.Errorf("%+v", s)
			}
		})
	}
}

// checkpoint returns a spec's checkpoint, modified: config by pairs of old and new text,
// and without its encoder if bare.
func checkpoint(t *testing.T, name string, bare bool, config ...string) *model.Checkpoint {
	t.Helper()
	s := testmodel.Named(name)
	changed := strings.NewReplacer(config...).Replace(string(s.Config))
	if len(config) > 0 && changed == string(s.Config) {
		t.Fatalf("%s: nothing of %q in its config", name, config)
	}
	if s.Config = []byte(changed); len(config) > 0 {
		s.Preprocessor = nil // it would have to agree
	}
	files := testmodel.FS(s)
	if bare {
		entries := slices.DeleteFunc(s.Entries(), func(e safetensors.Entry) bool { return strings.HasPrefix(e.Name, "model.encoder.") })
		var b bytes.Buffer
		if err := safetensors.Write(&b, entries...); err != nil {
			t.Fatal(err)
		}
		files["model.safetensors"] = &fstest.MapFile{Data: b.Bytes()}
	}
	c, err := model.OpenFS(files, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestUpstreamMismatch: transformers loads an assistant of another shape and fails later
// (#30407, #30611, #29869), or writes nonsense.
func TestUpstreamMismatch(t *testing.T) {
	target := func(name string) Target {
		c := checkpoint(t, name, false)
		tok, err := tokenizer.Load(c.FS(), name, c.Dims.Vocab)
		if err != nil {
			t.Fatal(err)
		}
		return Target{Checkpoint: c, Tokenizer: tok}
	}
	f16 := target("f16")
	for _, tt := range []struct {
		name      string
		assistant *model.Checkpoint
		target    Target
		thing     string // "" if it fits
	}{
		{"vocabulary 51864 for 51865", checkpoint(t, "english", false), f16, "vocabulary"},
		{"vocabulary 51866 for 51865", checkpoint(t, "v3", false), f16, "vocabulary"},
		{"128 mel bins for 80", checkpoint(t, "bf16", false, `"num_mel_bins": 80`, `"num_mel_bins": 128`), f16, "mel bins"},
		{"windows of another length", checkpoint(t, "odd", false), f16, "positions of a window"},
		{"decoder alone, of another width", checkpoint(t, "sharded", true, `"d_model": 64`, `"d_model": 80`), f16, "width of the audio features"},
		{"decoder alone, of the same width (transformers#45773)", checkpoint(t, "bf16", true), f16, ""},
		{"another width, hearing by itself", checkpoint(t, "bf16", false), f16, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.assistant, tt.target, LoadOptions{})
			var e *MismatchError
			switch {
			case tt.thing == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.thing != "" && (!errors.As(err, &e) || e.Thing != tt.thing || e.Remedy == ""):
				t.Errorf("got %v, want a mismatch of %s with a remedy", err, tt.thing)
			}
		})
	}
}
