package options

import (
	"testing"

	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
)

// TestLimits: the library accepts every number that a flag or a field of a request accepts.
func TestLimits(t *testing.T) {
	c, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
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
