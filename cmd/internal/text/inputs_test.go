package text

import (
	"slices"
	"testing"
)

// TestAddressIsNoPattern: what an address may hold would be a pattern in a file's name.
func TestAddressIsNoPattern(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1/a.wav?x=1", "https://example.org/a[1]*.mp3"} {
		if got, err := inputs([]string{address}, false); err != nil || !slices.Equal(got, []string{address}) {
			t.Errorf("%s: got %q, %v", address, got, err)
		}
	}
}
