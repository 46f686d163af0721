package text

import (
	"slices"
	"testing"
)

// TestAddressIsNoPattern: characters of a pattern have no meaning in an address.
func TestAddressIsNoPattern(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1/a.wav?x=1", "https://example.org/a[1]*.mp3"} {
		if got, err := inputs([]string{address}, false); err != nil || !slices.Equal(got, []string{address}) {
			t.Errorf("%s: got %q, %v", address, got, err)
		}
	}
}
