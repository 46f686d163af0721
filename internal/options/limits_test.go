package options

import (
	"slices"
	"testing"

	"verity/transcribe"
)

// TestLimits holds the table against the limits of the library: what a flag or a form
// field takes, the library takes.
func TestLimits(t *testing.T) {
	alone := []string{"Repetition.MinTokens", "Chunked.Length", "Chunked.Windows", "MaxInitialTimestamp", "TopK", "TopP"} // of the library
	for _, l := range transcribe.Limits {
		o := ByField(l.Field)
		switch {
		case slices.Contains(alone, l.Field):
			if o != nil {
				t.Errorf("%s has an option after all: leave it out here", l.Field)
			}
		case o == nil:
			t.Errorf("%s has a limit and no option", l.Field)
		case o.Max > l.Max || o.Min < l.Min || o.None && l.Off == 0 && l.Field != "HallucinationSilence" && l.Field != "LengthPenalty":
			t.Errorf("%s: %v to %v, the library has %v to %v", o.Name, o.Min, o.Max, l.Min, l.Max)
		}
	}
}
