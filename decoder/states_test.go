package decoder

import (
	"math"
	"slices"
	"testing"

	"verity/internal/testmodel"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
)

// reader opens the spec f16 with a weight for states, of noise times gain.
func reader(t *testing.T, p precision.Precision, gain float64) *Decoder {
	t.Helper()
	c, err := model.OpenFS(testmodel.ReaderFS(testmodel.Named("f16"), gain), "reader")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	d, err := New(c, Options{Precision: p})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestStates checks that a target's session keeps the outputs of its last norm and
// computes the same bits; that an assistant's rows have their product added to the
// inputs; and that no row's bits depend on the other rows of its pass.
func TestStates(t *testing.T) {
	for _, p := range []precision.Precision{precision.Of(precision.F32), precision.Of(precision.Int8)} {
		target := open(t, "f16", Options{Precision: p})
		text := []tokenizer.Token{50258, 50259, 50359, 11, 257, 1204, 390}
		pass := func(d *Decoder, st *States, parts ...int) []float32 {
			s := d.NewStream(cross(t, d, 1))
			defer s.Close()
			s.states = st
			var all []float32
			for at := 0; len(parts) > 0; parts = parts[1:] {
				var rows []Row
				for range parts[0] {
					rows = append(rows, Row{s, at, text[at], at < 2})
					at++
				}
				logits := make([]float32, loudOf(rows)*d.dims.Vocab)
				if err := d.Step(t.Context(), rows, logits); err != nil {
					t.Fatal(err)
				}
				all = append(all, logits...)
			}
			return all
		}
		st := target.NewStates()
		plain := pass(target, nil, 7)
		if !same(plain, pass(target, st, 3, 4)) {
			t.Fatalf("%v: keeping states changes the target's logits", p)
		}
		if width := target.dims.TextWidth; slices.ContainsFunc(st.data[:2*width], func(v float32) bool { return v != 0 }) {
			t.Errorf("%v: silent rows have states", p)
		}
		for at := 2; at < len(text); at++ {
			if !slices.ContainsFunc(st.at(at), func(v float32) bool { return v != 0 }) {
				t.Errorf("%v: position %d has no state", p, at)
			}
		}

		none, some := reader(t, p, 0), reader(t, p, 0.5)
		if target.ReadsStates() || !none.ReadsStates() {
			t.Fatalf("%v: the target reads states, or the reader does not", p)
		}
		copyOf := func() *States { return &States{st.width, slices.Clone(st.data)} }
		if got := pass(none, copyOf(), 7); !same(got, plain) {
			t.Errorf("%v: a weight of zeros changes logits", p)
		}
		want := pass(some, copyOf(), 7)
		if same(want, plain) {
			t.Errorf("%v: states change nothing", p)
		}
		if got := pass(some, nil, 7); !same(got, plain) {
			t.Errorf("%v: without states the logits are not those of zeros", p)
		}
		// A pass of several loud rows keeps states after the rows that read them; one row
		// at a time, an assistant reads its own.
		alone := pass(some, copyOf(), 2, 1)
		if !same(alone, want[:len(alone)]) {
			t.Errorf("%v: a row's logits depend on the rows beside it", p)
		}
		chain := pass(some, some.NewStates(), 2, 1, 1)
		other := pass(some, some.NewStates(), 3, 1)
		if !same(chain, other) {
			t.Errorf("%v: a draft's logits depend on how its prompt was split", p)
		}
	}
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
