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
	if len(tileArch()) == 0 {
		t.Skip("built without assembly")
	}
	required := strings.FieldsFunc(os.Getenv("VERITY_REQUIRE"), func(r rune) bool { return r == ',' })
	for _, name := range required {
		if !slices.Contains(disabled, name) && !slices.Contains(Implementations(), name) {
			t.Errorf("this machine must be able to run %s, and has %v", name, Implementations())
		}
		for table, ok := range map[string]bool{
			"products": usable(tileImpls, name), "int8 products": usable(int8Impls, name), "vectors": usable(vectorImpls, name), "attention": usable(attendImpls, name),
		} {
			if !ok && (floatsBeside(name) == name || table == "int8 products") {
				t.Errorf("%s cannot run on %s, which this machine must have", table, name)
			}
		}
	}
}

// usable reports whether a table has an implementation of that name which runs.
func usable[F any](table []impl[F], name string) bool {
	return slices.ContainsFunc(table, func(im impl[F]) bool { return im.name == name && im.ok })
}
