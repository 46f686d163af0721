package decoder

import (
	"testing"

	"verity/precision"
)

// TestStepBytes checks the bytes of a step of the test model "odd", computed from its
// specs.json: one layer of width 72, feed-forward of 100, 51865 tokens, 150 positions of
// audio. Outputs are padded to panels of 64.
func TestStepBytes(t *testing.T) {
	const (
		// Query, key and value; output, and query and output of cross-attention; feed-forward.
		layer   = 256*72 + 3*128*72 + 128*72 + 128*100
		outputs = 256 + 3*128 + 128 + 128
		head    = 51904 * 72
		cached  = 2 * 72 // numbers of a position
	)
	for format, want := range map[precision.Format]struct{ weights, position int64 }{
		precision.F32: {4 * (layer + head), 4 * cached},
		precision.F16: {2 * (layer + head), 2 * cached},
		// An output has a scale and an offset; a key and a value have a scale in each of two heads.
		precision.Int8: {layer + head + 8*(outputs+51904), cached + 2*2*4},
	} {
		d := open(t, "odd", Options{Precision: precision.Of(format)})
		for _, positions := range []int{0, 1, 61} {
			if got, want := d.StepBytes(positions), want.weights+want.position*int64(150+positions); got != want {
				t.Errorf("%v, %d positions: %d bytes, want %d", format, positions, got, want)
			}
		}
	}
}

// TestTraffic checks that a stream's step alone reads what StepBytes says, and that of a
// shared step, weights and time are divided, with the sums of the step.
func TestTraffic(t *testing.T) {
	d := open(t, "odd", Options{Precision: precision.Of(precision.Int8)})
	c := cross(t, d, 1)
	logits := make([]float32, 3*d.Dims().Vocab)
	a, b := d.NewStream(c), d.NewStream(c)
	defer b.Close()
	step := func(rows ...Row) {
		t.Helper()
		if err := d.Step(t.Context(), rows, logits); err != nil {
			t.Fatal(err)
		}
	}
	step(Row{Stream: a, Token: 5}) // reads no vocabulary head
	if got, want := a.traffic.Bytes, d.StepBytes(1)-d.head.Bytes(); got != want || a.traffic.Busy <= 0 {
		t.Errorf("a step without logits: %+v, want %d bytes and some time", a.traffic, want)
	}
	a.traffic = Traffic{}
	step(Row{Stream: a, Position: 1, Token: 6, WantLogits: true}, Row{Stream: a, Position: 2, Token: 7, WantLogits: true})
	if got, want := a.traffic.Bytes, d.StepBytes(3); got != want {
		t.Errorf("a step of two rows: %d bytes, want %d", got, want)
	}
	a.traffic = Traffic{}
	step(Row{Stream: a, Position: 3, Token: 8, WantLogits: true}, Row{Stream: b, Token: 5, WantLogits: true}, Row{Stream: b, Position: 1, Token: 5, WantLogits: true})
	got, want := a.traffic.Bytes+b.traffic.Bytes, d.StepBytes(4)+d.cacheBytes(d.dims.AudioPositions+2)
	if got > want || got < want-1 || a.traffic.Busy != b.traffic.Busy {
		t.Errorf("a step of two streams: %+v and %+v, want %d bytes together", a.traffic, b.traffic, want)
	}
	a.Close()
	if s := d.NewStream(c); s.traffic != (Traffic{}) {
		t.Errorf("a new stream begins with %+v", s.traffic)
	}
}
