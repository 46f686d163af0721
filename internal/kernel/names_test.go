package kernel

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRequired checks that what $VERITY_REQUIRE names is in use wherever it may be:
// a kernel without its entry in a table would not even be skipped.
func TestRequired(t *testing.T) {
	if len(sets) == 1 {
		t.Skip("needs assembly: built without assembly")
	}
	required := strings.FieldsFunc(os.Getenv("VERITY_REQUIRE"), func(r rune) bool { return r == ',' })
	for _, name := range required {
		if !slices.Contains(disabled, name) && !slices.Contains(Implementations(), name) {
			t.Errorf("this machine must be able to run %s, and has %v", name, Implementations())
		}
	}
}
