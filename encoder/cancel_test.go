package encoder_test

import (
	"context"
	"errors"
	"testing"

	"verity/encoder"
	"verity/internal/testing/testmodel"
)

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
		ctx := &testmodel.Countdown{Context: t.Context(), Left: n}
		if _, err := e.Encode(ctx, mel(spec), nil); !errors.Is(err, context.Canceled) || ctx.Left != -1 {
			t.Errorf("ended before layer %d of %d: error %v, looked at %d times more", n, layers, err, -1-ctx.Left)
		}
	}
	if _, err := e.Encode(&testmodel.Countdown{Context: t.Context(), Left: layers}, mel(spec), nil); err != nil {
		t.Errorf("ended behind the last layer: error %v, want none", err)
	}
}
