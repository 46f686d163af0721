package cli

import (
	"slices"
	"testing"

	"verity/transcribe"
)

// large lists the whole numbers that may exceed a thousand, each with the reason why that costs
// little memory.
var large = map[string]string{
	"channel":                     "one channel is selected, the others are discarded",
	"vad-min-silence-duration-ms": "only compared with a time",
	"max-upload":                  "uploads lie on the disk",
	"queue":                       "waiting requests have their uploads on the disk",
	"limit":                       "a count of rows, of which one is in memory at a time",
}

// TestLargeCeilings: a number has a low ceiling, or large says why it needs none.
func TestLargeCeilings(t *testing.T) {
	var seen []string
	for _, o := range All() {
		if o.Kind == Whole && o.Max > 1024 {
			if seen = append(seen, o.Name); large[o.Name] == "" {
				t.Errorf("%s may be %v: lower its ceiling or list it in large", o.Name, o.Max)
			}
		}
	}
	for name := range large {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is listed, but small", name)
		}
	}
}

// TestLibraryCeilings: the library itself refuses more sequences than a flag accepts.
func TestLibraryCeilings(t *testing.T) {
	m := digitsModel(t)
	for _, o := range []transcribe.Options{{BeamSize: maxSequences + 1}, {BestOf: maxSequences + 1}, {Patience: maxSequences + 1}} {
		if _, err := transcribe.New(m, o); err == nil {
			t.Errorf("%d beams, best of %d, patience %v are accepted", o.BeamSize, o.BestOf, o.Patience)
		}
	}
}
