package decoder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"verity/encoder"
	"verity/internal/kernel"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// open loads a test checkpoint; its network is random but every part works.
func open(t testing.TB, spec string, o Options) *Decoder {
	t.Helper()
	c, err := model.OpenFS(testmodel.FS(testmodel.Named(spec)), spec)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// features are random but the same for a seed.
func features(d *Decoder, seed uint64) *encoder.Features {
	m := d.Dims()
	f := &encoder.Features{Positions: m.AudioPositions, Width: m.AudioWidth, Data: make([]float32, m.AudioPositions*m.AudioWidth)}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range f.Data {
		f.Data[i] = float32(rng.NormFloat64())
	}
	return f
}

func cross(t testing.TB, d *Decoder, seed uint64) *Cross {
	t.Helper()
	c, err := d.Cross(t.Context(), features(d, seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func step(t testing.TB, d *Decoder, rows []Row) []float32 {
	t.Helper()
	wanted := 0
	for _, r := range rows {
		if r.WantLogits {
			wanted++
		}
	}
	logits := make([]float32, wanted*d.Dims().Vocab)
	if err := d.Step(t.Context(), rows, logits); err != nil {
		t.Fatal(err)
	}
	return logits
}

func randomTokens(rng *rand.Rand, n, vocab int) []tokenizer.Token {
	out := make([]tokenizer.Token, n)
	for i := range out {
		out[i] = tokenizer.Token(rng.IntN(vocab))
	}
	return out
}

// equalBits compares as bits, so that NaN, and zeros of different sign, differ.
func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// oneByOne is the definition: every token alone, one row a step.
func oneByOne(t testing.TB, d *Decoder, c *Cross, tokens []tokenizer.Token) [][]float32 {
	t.Helper()
	s := d.NewStream(c)
	defer s.Close()
	var out [][]float32
	for p, tok := range tokens {
		out = append(out, step(t, d, []Row{{s, p, tok, true}}))
	}
	return out
}

// TestStepRows tests the main guarantee: whatever rows share a step, each has the logits
// it has alone, on any number of threads, in any precision.
func TestStepRows(t *testing.T) {
	for _, tt := range []struct {
		spec      string
		precision precision.Format
	}{{"odd", precision.F32}, {"odd", precision.F16}, {"odd", precision.Int8}, {"multi", 0}} {
		for _, threads := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s/%v/%d", tt.spec, tt.precision, threads), func(t *testing.T) {
				if slow := kernel.Implementations()[0] == "ref" && threads != 2; testing.Short() && slow {
					t.Skip("needs make test-all: plain Go is slow")
				}
				if testing.Short() && tt.spec == "multi" && threads > 1 {
					t.Skip("needs make test-all: the large vocabulary is slow in plain Go")
				}
				pool := parallel.New(threads)
				defer pool.Close()
				d := open(t, tt.spec, Options{Pool: pool, Precision: precision.Of(tt.precision)})
				checkRows(t, d, 12)
			})
		}
	}
}

func checkRows(t *testing.T, d *Decoder, n int) {
	rng := rand.New(rand.NewPCG(3, 4))
	vocab := d.Dims().Vocab
	ca, cb := cross(t, d, 1), cross(t, d, 2)
	defer ca.Close()
	defer cb.Close()
	a, b := randomTokens(rng, n, vocab), randomTokens(rng, n, vocab)
	wantA, wantB := oneByOne(t, d, ca, a), oneByOne(t, d, cb, b)

	sa, sb := d.NewStream(ca), d.NewStream(cb)
	defer sa.Close()
	defer sb.Close()
	for sa.Len() < n || sb.Len() < n {
		// A wrong draft first, so that refused rows lie in the cache after the accepted
		// ones.
		if room := d.Dims().TextPositions - sa.Len(); room > 3 {
			before := sa.Len()
			var rows []Row
			for i, tok := range randomTokens(rng, 1+rng.IntN(3), vocab) {
				rows = append(rows, Row{sa, before + i, tok, true})
			}
			step(t, d, rows)
			sa.Cut(before)
		}
		var rows []Row
		var want [][]float32
		for _, part := range []struct {
			s     *Stream
			toks  []tokenizer.Token
			alone [][]float32
		}{{sa, a, wantA}, {sb, b, wantB}} {
			from := part.s.Len()
			for p := from; p < min(n, from+rng.IntN(6)); p++ {
				wanted := rng.IntN(4) != 0
				rows = append(rows, Row{part.s, p, part.toks[p], wanted})
				if wanted {
					want = append(want, part.alone[p])
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		got := step(t, d, rows)
		for i, w := range want {
			if !equalBits(got[i*vocab:(i+1)*vocab], w) {
				t.Fatalf("row %d of %d differs from the same row alone", i, len(rows))
			}
		}
	}
}

// A fork changes nothing in its parent.
func TestFork(t *testing.T) {
	d := open(t, "odd", Options{})
	c := cross(t, d, 1)
	rng := rand.New(rand.NewPCG(5, 6))
	vocab := d.Dims().Vocab
	head, left, right := randomTokens(rng, 5, vocab), randomTokens(rng, 4, vocab), randomTokens(rng, 4, vocab)
	wantLeft := oneByOne(t, d, c, slices.Concat(head, left))
	wantRight := oneByOne(t, d, c, slices.Concat(head, right))

	s := d.NewStream(c)
	for p, tok := range head {
		step(t, d, []Row{{s, p, tok, false}})
	}
	f := s.fork()
	for i := range left {
		got := step(t, d, []Row{{s, 5 + i, left[i], true}, {f, 5 + i, right[i], true}})
		if !equalBits(got[:vocab], wantLeft[5+i]) || !equalBits(got[vocab:], wantRight[5+i]) {
			t.Fatalf("token %d after the fork differs", i)
		}
	}
}

func TestStepErrors(t *testing.T) {
	d, other := open(t, "odd", Options{}), open(t, "odd", Options{})
	c := cross(t, d, 1)
	s, foreign := d.NewStream(c), other.NewStream(c)
	m := d.Dims()
	tests := []struct {
		name string
		rows []Row
		room int
		want string
	}{
		{"gap", []Row{{s, 1, 0, true}}, 1, "want 0, the next of its stream"},
		{"twice", []Row{{s, 0, 0, true}, {s, 0, 0, true}}, 2, "want 1, the next of its stream"},
		{"vocabulary", []Row{{s, 0, tokenizer.Token(m.Vocab), true}}, 1, "not in the vocabulary"},
		{"negative", []Row{{s, 0, -1, true}}, 1, "not in the vocabulary"},
		{"room", []Row{{s, 0, 0, true}}, 0, "room for logits"},
		{"foreign", []Row{{foreign, 0, 0, true}}, 1, "another decoder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := d.Step(t.Context(), tt.rows, make([]float32, tt.room*m.Vocab))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if s.Len() != 0 {
				t.Errorf("the stream moved to %d", s.Len())
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Step(ended, []Row{{s, 0, 0, true}}, make([]float32, m.Vocab)); err == nil || s.Len() != 0 {
		t.Errorf("ended context: error %v, stream at %d", err, s.Len())
	}
	last := m.TextPositions
	s.length = last // as if full
	if err := d.Step(t.Context(), []Row{{s, last, 0, true}}, make([]float32, m.Vocab)); err == nil || !strings.Contains(err.Error(), "past the last") {
		t.Errorf("full stream: error %v", err)
	}
}

func TestNotANumber(t *testing.T) {
	d := open(t, "odd", Options{})
	f := features(d, 1)
	f.Data[17] = float32(math.NaN())
	c, err := d.Cross(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Step(t.Context(), []Row{{d.NewStream(c), 0, 1, true}}, make([]float32, d.Dims().Vocab))
	if err == nil || !strings.Contains(err.Error(), "not a number") {
		t.Errorf("error %v, want one that says what is not a number", err)
	}
	if err == nil || !strings.Contains(err.Error(), "layer 0 of") {
		t.Errorf("error %v, want one that names the first layer", err)
	}
}

// TestLocateNaN breaks one weight after another and checks that the error names its layer.
func TestLocateNaN(t *testing.T) {
	for _, tt := range []struct {
		want   string
		weight func(d *Decoder) *float32
	}{
		{"embedding", func(d *Decoder) *float32 { return &d.positions[2] }},
		{"layer 0 of", func(d *Decoder) *float32 { return &d.blocks[0].norm3.Bias[0] }},
		{"layer 0 of", func(d *Decoder) *float32 { return &d.blocks[0].crossOut.Bias[5] }},
		{"the last norm", func(d *Decoder) *float32 { return &d.norm.Gain[1] }},
	} {
		d := open(t, "odd", Options{})
		*tt.weight(d) = float32(math.NaN())
		c := &Cross{d: d, layers: d.newCaches(d.dims.AudioPositions), positions: d.dims.AudioPositions} // keys and values are zero
		err := d.Step(t.Context(), []Row{{d.NewStream(c), 0, 1, true}}, make([]float32, d.Dims().Vocab))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one that names %q", err, tt.want)
		}
	}
}
