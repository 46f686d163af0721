package transcribe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"verity/decoder"
	"verity/internal/testing/testmodel"
	"verity/model"
)

// TestLoadNetworkErrors checks that an error of a half ends the other, and that it is the one
// reported.
func TestLoadNetworkErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, d, err := LoadNetwork(testmodel.Open(t, "odd").WithContext(ctx), decoder.Options{}); !errors.Is(err, context.Canceled) || e != nil || d != nil {
		t.Errorf("error = %v, want Canceled", err)
	}
	dir := testmodel.Write(t, testmodel.Named("odd"))
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 1<<16); err != nil {
		t.Skip("needs mapped files that can be cut: ", err)
	}
	if e, d, err := LoadNetwork(c, decoder.Options{}); !errors.Is(err, model.ErrChanged) || e != nil || d != nil {
		t.Errorf("error = %v, want ErrChanged", err)
	}
}
