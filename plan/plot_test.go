package plan

import (
	"bytes"
	"testing"
)

// TestDraw draws both formats.
func TestDraw(t *testing.T) {
	a := Assumptions{Alpha: 0.8, Cost: 0.1, Verify: []float64{1, 1.1, 1.3}}
	for format, begins := range map[string]string{"svg": "<?xml", "png": "\x89PNG"} {
		b, err := Draw(a, 8, format)
		if err != nil || !bytes.HasPrefix(b, []byte(begins)) {
			t.Errorf("%s: %v, begins with %.8q", format, err, b)
		}
	}
}
