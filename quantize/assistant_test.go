package quantize

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/safetensors"
	"verity/internal/testmodel"
	"verity/model"
)

// TestAssistant checks that an assistant without encoder and tables is packed, including
// its matrix for states, and that its shortlist is copied.
func TestAssistant(t *testing.T) {
	from, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for name, f := range testmodel.ReaderFS(testmodel.Named("f16"), 1) {
		if err := os.WriteFile(filepath.Join(from, name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := model.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	states, err := whole.Tensor(model.StatesName)
	if err != nil {
		t.Fatal(err)
	}
	entries := slices.DeleteFunc(testmodel.Named("f16").Entries(), func(e safetensors.Entry) bool {
		return strings.HasPrefix(e.Name, "model.encoder.") || strings.HasPrefix(e.Name, "model.decoder.embed_")
	})
	entries = append(entries, safetensors.Of("model."+model.StatesName, states))
	f, err := os.Create(filepath.Join(from, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Write(f, entries...); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole.Close()
	if err := os.Rename(f.Name(), filepath.Join(from, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(from, "shortlist.json")
	if err := os.WriteFile(list, []byte("[1,2]"), 0o666); err != nil {
		t.Fatal(err)
	}

	c, err := model.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := Write(t.Context(), c, out, Options{Format: "int4"}); err != nil {
		t.Fatal(err)
	}
	got, err := model.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	w, err := got.Weight(model.StatesName)
	if err != nil || w.Packed == nil {
		t.Errorf("%s: %v, want it in few bits", model.StatesName, err)
	}
	if b, err := os.ReadFile(filepath.Join(out, "shortlist.json")); err != nil || string(b) != "[1,2]" {
		t.Errorf("shortlist.json: %q, %v", b, err)
	}
}
