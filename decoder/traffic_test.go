package decoder

import (
	"testing"

	"verity/internal/tensor"
)

// TestTraffic: alone, a stream's step reads what StepBytes says; shared, weights
// and time are shared out, and the sums are those of the step.
func TestTraffic(t *testing.T) {
	d := open(t, "odd", Options{Precision: tensor.I8})
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
	step(Row{Stream: a, Token: 5, Silent: true}) // reads no vocabulary head
	if got, want := a.traffic.Bytes, d.StepBytes(1)-d.head.Bytes(); got != want || a.traffic.Busy <= 0 {
		t.Errorf("a silent step: %+v, want %d bytes and some time", a.traffic, want)
	}
	a.traffic = Traffic{}
	step(Row{Stream: a, Position: 1, Token: 6}, Row{Stream: a, Position: 2, Token: 7})
	if got, want := a.traffic.Bytes, d.StepBytes(3); got != want {
		t.Errorf("a step of two rows: %d bytes, want %d", got, want)
	}
	a.traffic = Traffic{}
	step(Row{Stream: a, Position: 3, Token: 8}, Row{Stream: b, Token: 5}, Row{Stream: b, Position: 1, Token: 5})
	got, want := a.traffic.Bytes+b.traffic.Bytes, d.StepBytes(4)+d.cacheBytes(2)
	if got > want || got < want-1 || a.traffic.Busy != b.traffic.Busy {
		t.Errorf("a step of two streams: %+v and %+v, want %d bytes together", a.traffic, b.traffic, want)
	}
	a.Close()
	if s := d.NewStream(c); s.traffic != (Traffic{}) {
		t.Errorf("a new stream begins with %+v", s.traffic)
	}
}
