package cli

import (
	"testing"

	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
)

// TestLimits: the library accepts every number that a flag or a field of a request accepts.
func TestLimits(t *testing.T) {
	m := digitsModel(t)
	for _, o := range All() {
		if o.Set == nil || o.Kind != Whole && o.Kind != Real {
			continue
		}
		for _, v := range []float64{o.Min, o.Max} {
			d := Decoding{}
			o.Set(&d, Value{Number: v})
			if _, err := transcribe.New(m, d.Result(nil)); err != nil {
				t.Errorf("%s %v: %v", o.Name, v, err)
			}
		}
	}
}

// digitsModel returns the small model of the tests.
func digitsModel(t *testing.T) *transcribe.Model {
	t.Helper()
	c, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}
