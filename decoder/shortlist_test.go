package decoder

import (
	"math"
	"testing"

	"verity/precision"
	"verity/tokenizer"
)

// Logits of the shortlist have the bits they have without one; all others are
// -Inf.
func TestShortlist(t *testing.T) {
	for _, format := range []precision.Format{precision.F32, precision.Int8} {
		whole := open(t, "odd", Options{Precision: precision.Of(format)})
		list := []tokenizer.Token{0, 1, 2, 700, 50000, 50001, tokenizer.Token(whole.Dims().Vocab - 1)}
		short := open(t, "odd", Options{Precision: precision.Of(format), Shortlist: list})
		if short.StepBytes(0) >= whole.StepBytes(0) {
			t.Errorf("%v: a step reads %d bytes, %d without a shortlist", format, short.StepBytes(0), whole.StepBytes(0))
		}
		logits := func(d *Decoder) []float32 {
			out := make([]float32, 2*d.Dims().Vocab)
			s := d.NewStream(cross(t, d, 1))
			defer s.Close()
			rows := []Row{{Stream: s, Token: 5}, {Stream: s, Position: 1, Token: 700}}
			if err := d.Step(t.Context(), rows, out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		want, got := logits(whole), logits(short)
		listed := make([]bool, whole.Dims().Vocab)
		for _, id := range list {
			listed[id] = true
		}
		for i := range got {
			w := negInf
			if listed[i%len(listed)] {
				w = want[i]
			}
			if math.Float32bits(got[i]) != math.Float32bits(w) {
				t.Fatalf("%v: logit %d of row %d = %v, want %v", format, i%len(listed), i/len(listed), got[i], w)
			}
		}
	}
}

// TestLike checks that a second decoder of the same checkpoint shares the tables that it
// would hold again, and only those.
func TestLike(t *testing.T) {
	first := open(t, "odd", Options{Precision: precision.Of(precision.F16)})
	short := open(t, "odd", Options{Precision: precision.Of(precision.Int8), Like: first, Shortlist: []tokenizer.Token{1, 2, 3}})
	if short.embed != first.embed || &short.positions[0] != &first.positions[0] || short.head == first.head {
		t.Error("with a shortlist, the tables of tokens and positions are not those of the first decoder, or the head is")
	}
	whole := open(t, "odd", Options{Precision: precision.Of(precision.Int8), Like: first})
	if whole.embed != whole.head || whole.head == first.head || &whole.positions[0] != &first.positions[0] {
		t.Error("without one, the table of tokens is not the head in its own precision")
	}
}

func TestShortlistErrors(t *testing.T) {
	for _, list := range [][]tokenizer.Token{{}, {3, 2}, {4, 4}, {-1}, {0, 1 << 20}} {
		if _, err := runsOf(list, 51865); err == nil {
			t.Errorf("shortlist %v was taken", list)
		}
	}
}
