package safetensors

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"verity/internal/tensor"
)

// A tensor that was dropped, or asked for ahead, reads as before.
func TestAdvice(t *testing.T) {
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
		f.Drop("b", 0, 20000)
		f.Drop("b", 5000, 9000)
		f.Drop("a", 0, 28)
		f.Drop("a", 0, 1<<40) // clipped
		f.Drop("none", 0, 1)
		f.DropAll()
		f.Ahead("b", -1, 1<<40)
		f.Ahead("a", 3, 3)
		f.Ahead("none", 0, 1)
	}
}
