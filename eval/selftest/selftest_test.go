package selftest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"verity/assistant"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/testing/testmodel"
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
	e, err := encoder.New(c, encoder.Options{Pool: pool, Precision: precision.Of(precision.F16)})
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
		Checkpoint: c, Tokenizer: tok, Encoder: e, Decoder: d, Pool: pool,
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
	if full, err := subject(t, 1).Digest(t.Context(), Full); err != nil || digest != full {
		t.Errorf("digest of the checks %+v, of another run %+v, error %v", digest, full, err)
	}
}

// TestFault sets a wrong bit where each check looks, and expects it to be found.
func TestFault(t *testing.T) {
	b, err := prepare(t.Context(), subject(t, 2), unlimited)
	if err != nil {
		t.Fatal(err)
	}
	last := b.alone[len(b.alone)-1]
	last[77] = math.Float32frombits(math.Float32bits(last[77]) ^ 1)
	for name, check := range map[string]func(context.Context, *trial) (string, int64, error){
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
	b, err := prepare(t.Context(), s, unlimited)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := checkDrafts(t.Context(), b); err == nil || !strings.Contains(err.Error(), "the assistant cannot draft: worn out") {
		t.Errorf("error %v, want the assistant's", err)
	}
}

// Digests do not depend on threads, and do depend on the numbers.
func TestDigest(t *testing.T) {
	one, two := subject(t, 1), subject(t, 2)
	a, err := one.Digest(t.Context(), Full)
	if err != nil {
		t.Fatal(err)
	}
	b, err := two.Digest(t.Context(), Full)
	if err != nil || a != b {
		t.Errorf("digests %+v and %+v, error %v, want the same", a, b, err)
	}
	for _, part := range []Part{Full, short} {
		if got, err := two.Digest(t.Context(), part); err != nil || got != a {
			t.Errorf("%s digest %+v behind the first layers, which are all of them, %+v behind all, error %v, want the same", part, got, a, err)
		}
	}
	plain, err := one.Digest(t.Context(), light)
	again, err2 := two.Digest(t.Context(), light)
	if errors.Join(err, err2) != nil || plain != again || plain.Values == 0 {
		t.Errorf("light digests %+v and %+v, errors %v %v, want the same", plain, again, err, err2)
	}
	if one.Decoder, err = decoder.New(one.Checkpoint, decoder.Options{Precision: precision.Of(precision.Int4)}); err != nil {
		t.Fatal(err)
	}
	if narrow, err := one.Digest(t.Context(), light); err != nil || narrow == plain {
		t.Errorf("light digest %+v in int4, %+v in f16, error %v, want others", narrow, plain, err)
	}
	if _, err := one.Digest(t.Context(), "other"); err == nil {
		t.Error("a part that there is not is taken")
	}
}
