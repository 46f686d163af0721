package quantize_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"verity/audio"
	"verity/model"
	"verity/model/digits"
	"verity/model/quantize"
	"verity/transcribe"
)

// text transcribes the recording of the digit model.
func text(ctx context.Context, c *model.Checkpoint) (string, error) {
	m, err := transcribe.Load(ctx, c, transcribe.LoadOptions{Threads: 1})
	if err != nil {
		return "", err
	}
	defer m.Close()
	t, err := transcribe.New(m, transcribe.Options{})
	if err != nil {
		return "", err
	}
	clip, err := audio.Input{}.OpenReader(ctx, "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		return "", err
	}
	defer clip.Close()
	out, err := t.Transcribe(ctx, clip, transcribe.Callbacks{})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(out.Text), nil
}

// TestCalibrated quantises a trained model with real speech: on no layer is GPTQ worse
// than rounding to nearest, most gain, the bytes do not depend on the number of passes
// for the statistics, and the result still transcribes correctly.
func TestCalibrated(t *testing.T) {
	ctx := context.Background()
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	passes, want := 0, ""
	o := quantize.Options{Format: "mxfp6", Calibrate: func(ctx context.Context, c *model.Checkpoint) (err error) {
		passes++
		want, err = text(ctx, c)
		return err
	}}
	dir := t.TempDir()
	layers, err := quantize.Write(ctx, c, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	gained := 0
	for _, l := range layers {
		if !(l.Error <= l.Nearest) {
			t.Errorf("%s: error %v, above that of rounding to nearest, %v", l.Name, l.Error, l.Nearest)
		}
		if l.Error < 0.9*l.Nearest {
			gained++
		}
	}
	if passes != 1 || gained < len(layers)*3/4 {
		t.Errorf("%d passes; %d of %d layers gained", passes, gained, len(layers))
	}
	q, err := model.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if got, err := text(ctx, q); err != nil || got != want {
		t.Errorf("in few bits it hears %q, want %q: %v", got, want, err)
	}
	o.Memory = 1 << 20
	again, err := quantize.Write(ctx, c, t.TempDir(), o)
	if err != nil || passes < 4 {
		t.Fatalf("%d passes with little memory: %v", passes, err)
	}
	for i, l := range again {
		if l != layers[i] {
			t.Errorf("with little memory %+v, want %+v", l, layers[i])
		}
	}
}
