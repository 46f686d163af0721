package selftest

import (
	"context"
	"errors"
	"math"
	"testing"

	"verity/assistant"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

func subject(t *testing.T, threads int) Subject {
	t.Helper()
	c := testmodel.Open(t, "odd")
	pool := parallel.New(threads)
	t.Cleanup(pool.Close)
	e, err := encoder.New(c, encoder.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	d, err := decoder.New(c, decoder.Options{Pool: pool, Precision: precision.Of(precision.F16)})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(c.FS(), "odd", c.Dims.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	return Subject{
		Dims: c.Dims, Generation: c.Generation, Tokenizer: tok, Encoder: e, Decoder: d, Threads: threads, Positions: 8,
		Assistant: &assistant.Model{Decoder: d, EOT: tok.EOT},
	}
}

func TestRun(t *testing.T) {
	seen := map[string]bool{}
	digest, err := Run(t.Context(), subject(t, 2), func(c Check) {
		seen[c.Name] = true
		if c.Err != nil || c.Values == 0 || c.What == "" {
			t.Errorf("%+v: want values compared and no error", c)
		}
	})
	if err != nil || len(seen) != 4 {
		t.Errorf("checks %v, error %v, want four and none", seen, err)
	}
	if full, err := Full(t.Context(), subject(t, 1)); err != nil || digest != full {
		t.Errorf("digest of the checks %+v, of another run %+v, error %v", digest, full, err)
	}
}

// TestFault sets a wrong bit where each check looks, and expects it to be found.
func TestFault(t *testing.T) {
	b, err := prepare(t.Context(), subject(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	last := b.alone[len(b.alone)-1]
	last[77] = math.Float32frombits(math.Float32bits(last[77]) ^ 1)
	for name, check := range map[string]func(context.Context, *bench) (string, int64, error){
		"rows": checkRows, "threads": checkThreads, "batches": checkBatches,
	} {
		if _, _, err := check(t.Context(), b); !errors.Is(err, ErrDiffers) {
			t.Errorf("%s: error %v, want one that says bits differ", name, err)
		}
	}
	want := []decoder.Choice{{Token: 1, LogProb: -1}}
	for _, got := range [][]decoder.Choice{{}, {{Token: 2, LogProb: -1}}, {{Token: 1, LogProb: -1.0000001}}} {
		if sameChoices(got, want) {
			t.Errorf("choices %v pass for %v", got, want)
		}
	}
}

// TestBrokenAssistant: transcribing continues without an assistant whose weights are
// corrupt, but the check of drafts must fail.
func TestBrokenAssistant(t *testing.T) {
	s := subject(t, 1)
	files := testmodel.Changed(t, testmodel.FS(testmodel.Named("odd")), "model.decoder.layer_norm.bias", func(data []byte) {
		copy(data, "\xff\xff\xff\xff") // not a number in any type
	})
	c, err := model.OpenFS(files, "odd")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := decoder.New(c, decoder.Options{Precision: precision.Of(precision.F16)})
	if err != nil {
		t.Fatal(err)
	}
	s.Assistant = &assistant.Model{Name: "worn out", Decoder: d, EOT: s.Tokenizer.EOT}
	b, err := prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var broken *assistant.BrokenError
	if _, _, err := checkDrafts(t.Context(), b); !errors.As(err, &broken) {
		t.Errorf("error %v, want the assistant's", err)
	}
}

// Digests do not depend on threads, and do depend on the numbers.
func TestDigest(t *testing.T) {
	one, two := subject(t, 1), subject(t, 2)
	a, err := Full(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Full(t.Context(), two)
	if err != nil || a != b {
		t.Errorf("digests %+v and %+v, error %v, want the same", a, b, err)
	}
	c := testmodel.Open(t, "odd")
	headless := two
	headless.Encoder = nil
	if short, err := Short(t.Context(), headless, c, encoder.Options{}); err != nil || short != a {
		t.Errorf("digest %+v behind the first layers, which are all of them, %+v behind all, error %v, want the same", short, a, err)
	}
	light, err := Light(t.Context(), one, c, precision.Of(precision.F16))
	again, err2 := Light(t.Context(), two, c, precision.Of(precision.F16))
	if errors.Join(err, err2) != nil || light != again || light.Values == 0 {
		t.Errorf("light digests %+v and %+v, errors %v %v, want the same", light, again, err, err2)
	}
	if narrow, err := Light(t.Context(), one, c, precision.Of(precision.Int4)); err != nil || narrow == light {
		t.Errorf("light digest %+v in bf16, %+v in f16, error %v, want others", narrow, light, err)
	}
}
