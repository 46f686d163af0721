package encoder_test

import (
	"context"
	"errors"
	"testing"

	"verity/encoder"
	"verity/internal/testmodel"
)

// A countdown is a context that ends when it has been looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelBetweenLayers ends the context before each layer in turn.
func TestCancelBetweenLayers(t *testing.T) {
	spec := testmodel.Named("odd")
	e, err := encoder.New(testmodel.Open(t, "odd"), encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	layers := spec.Dims().AudioLayers
	if layers < 2 {
		t.Fatal("one layer has nothing between")
	}
	for n := range layers {
		ctx := &countdown{t.Context(), n}
		if _, err := e.Encode(ctx, mel(spec)); !errors.Is(err, context.Canceled) || ctx.left != -1 {
			t.Errorf("ended before layer %d of %d: error %v, looked at %d times more", n, layers, err, -1-ctx.left)
		}
	}
	if _, err := e.Encode(&countdown{t.Context(), layers}, mel(spec)); err != nil {
		t.Errorf("ended behind the last layer: error %v, want none", err)
	}
}
