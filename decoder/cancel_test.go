package decoder

import (
	"context"
	"errors"
	"testing"

	"verity/encoder"
	"verity/internal/testing/testmodel"
)

// TestCancelBetweenLayers ends the context before each layer in turn, of a step and of
// the keys and values of a window; the stream must stay as it was.
func TestCancelBetweenLayers(t *testing.T) {
	d := open(t, "sharded", Options{})
	m := d.Dims()
	if m.TextLayers < 2 {
		t.Fatal("one layer has nothing between")
	}
	c := cross(t, d, 1)
	defer c.Close()
	s := d.NewStream(c)
	defer s.Close()
	logits := make([]float32, m.Vocab)
	features := &encoder.Features{Positions: m.AudioPositions, Width: m.AudioWidth, Data: make([]float32, m.AudioPositions*m.AudioWidth)}
	for n := range m.TextLayers {
		ctx := &testmodel.Countdown{Context: t.Context(), Left: n}
		err := d.Step(ctx, []Row{{s, 0, 1, true}}, logits)
		if !errors.Is(err, context.Canceled) || ctx.Left != -1 || s.Len() != 0 {
			t.Errorf("step ended before layer %d: error %v, looked at %d times more, stream of %d", n, err, -1-ctx.Left, s.Len())
		}
		ctx = &testmodel.Countdown{Context: t.Context(), Left: n}
		if _, err := d.Cross(ctx, features, nil); !errors.Is(err, context.Canceled) || ctx.Left != -1 {
			t.Errorf("keys and values ended before layer %d: error %v, looked at %d times more", n, err, -1-ctx.Left)
		}
	}
	if err := d.Step(&testmodel.Countdown{Context: t.Context(), Left: m.TextLayers}, []Row{{s, 0, 1, true}}, logits); err != nil || s.Len() != 1 {
		t.Errorf("step ended behind the last layer: error %v, stream of %d, want none and 1", err, s.Len())
	}
}
