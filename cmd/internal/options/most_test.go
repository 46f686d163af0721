package options

import (
	"slices"
	"testing"

	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
)

// large are the whole numbers that may be more than a thousand, each with what its memory hangs on.
var large = map[string]string{
	"channel":                     "one is picked: nothing is kept of the others",
	"vad-min-silence-duration-ms": "a time that is compared",
	"model-memory":                "bounds memory itself",
	"max-upload":                  "lies in the spool, on the disk",
	"queue":                       "a request that waits has its upload in the spool",
	"sessions":                    "the operator's: docs/SERVER.md says what one takes",
	"limit":                       "a count of rows, of which one is kept at a time",
}

// TestLargeCeilings: a ceiling follows from memory. A number is small, or a line says why it costs nothing.
func TestLargeCeilings(t *testing.T) {
	var seen []string
	for _, o := range All() {
		if o.Kind == Whole && o.Max > 1024 {
			if seen = append(seen, o.Name); large[o.Name] == "" {
				t.Errorf("%s may be %v: a lower ceiling, or a line in large", o.Name, o.Max)
			}
		}
	}
	for name := range large {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is listed, and is small", name)
		}
	}
}

// TestLibraryCeilings: the library itself, which servers of others call, refuses one sequence more than a flag takes.
func TestLibraryCeilings(t *testing.T) {
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
	for _, o := range []transcribe.Options{{BeamSize: sequences + 1}, {BestOf: sequences + 1}, {Patience: sequences + 1}} {
		if _, err := transcribe.New(m, o); err == nil {
			t.Errorf("%d beams, best of %d, patience %v are taken", o.BeamSize, o.BestOf, o.Patience)
		}
	}
}
