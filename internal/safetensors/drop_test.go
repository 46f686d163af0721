package safetensors

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"verity/internal/tensor"
)

// A dropped tensor reads as before.
func TestDrop(t *testing.T) {
	values := make([]float32, 5000) // some pages
	for i := range values {
		values[i] = float32(i)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	var b bytes.Buffer
	if err := Write(&b, Of("a", tensor.FromFloat32(values[:7], 7)), Of("b", tensor.FromFloat32(values, 5000))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		got, ok := f.Tensor("b")
		if !ok || !slices.Equal(got.Float32(), values) {
			t.Fatal("the tensor changed")
		}
		f.Drop("b")
		f.Drop("a")
		f.Drop("none")
	}
}
