package transcribe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
)

// TestLoadNetwork holds logits and features of halves loaded together against those loaded one
// after the other: they are the same bits.
func TestLoadNetwork(t *testing.T) {
	spec := testmodel.Named("odd")
	c := testmodel.Open(t, "odd")
	pool := parallel.New(3)
	defer pool.Close()
	o := decoder.Options{Pool: pool, Precision: precision.Of(precision.Int8)}
	mel := &audio.Mel{Bins: c.Dims.MelBins, Frames: c.Dims.WindowFrames(), Data: spec.Mel()}
	logits := func(e *encoder.Encoder, d *decoder.Decoder) []float32 {
		f, err := e.Encode(t.Context(), mel)
		if err != nil {
			t.Fatal(err)
		}
		x, err := d.Cross(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		s := d.NewStream(x)
		defer s.Close()
		y := make([]float32, d.Dims().Vocab)
		if err := d.Step(t.Context(), []decoder.Row{{Stream: s, Token: 1}}, y); err != nil {
			t.Fatal(err)
		}
		return y
	}
	e, err := encoder.New(c, encoder.Options{Pool: pool, Precision: o.Precision})
	if err != nil {
		t.Fatal(err)
	}
	d, err := decoder.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	want := logits(e, d)
	for range 5 {
		e, d, err := LoadNetwork(c, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := logits(e, d); !slices.Equal(got, want) {
			t.Fatal("halves loaded together compute other logits")
		}
	}
}

// TestLoadNetworkErrors checks that an error of a half ends the other, and that it is the one
// reported.
func TestLoadNetworkErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, d, err := LoadNetwork(testmodel.Open(t, "odd").WithContext(ctx), decoder.Options{}); !errors.Is(err, context.Canceled) || e != nil || d != nil {
		t.Errorf("error = %v, want Canceled", err)
	}
	dir := testmodel.Write(t, testmodel.Named("odd"))
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 1<<16); err != nil {
		t.Skip("this system protects mapped files:", err)
	}
	if e, d, err := LoadNetwork(c, decoder.Options{}); !errors.Is(err, model.ErrChanged) || e != nil || d != nil {
		t.Errorf("error = %v, want ErrChanged", err)
	}
}
