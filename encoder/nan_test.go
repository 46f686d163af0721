package encoder

import (
	"math"
	"strings"
	"testing"

	"verity/audio"
	"verity/internal/testing/testmodel"
)

// TestLocateNaN breaks one weight after another and checks that the error names its layer.
func TestLocateNaN(t *testing.T) {
	spec := testmodel.Named("odd")
	d := spec.Dims()
	mel := &audio.Mel{Bins: d.MelBins, Frames: d.WindowFrames(), Data: spec.Mel()}
	for _, tt := range []struct {
		want   string
		weight func(e *Encoder) *float32
	}{
		{"the convolutions", func(e *Encoder) *float32 { return &e.conv2.Bias[3] }},
		{"layer 0 of", func(e *Encoder) *float32 { return &e.blocks[0].norm1.Bias[0] }},
		{"layer 1 of", func(e *Encoder) *float32 { return &e.blocks[1].down.Bias[5] }},
		{"the last norm", func(e *Encoder) *float32 { return &e.norm.Gain[1] }},
	} {
		e, err := New(testmodel.Open(t, "odd"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		*tt.weight(e) = float32(math.NaN())
		if _, err := e.Encode(t.Context(), mel, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one that names %q", err, tt.want)
		}
	}
}
