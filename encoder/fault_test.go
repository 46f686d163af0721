package encoder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"verity/encoder"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
)

// TestFault checks that a file which shrinks while all threads pack its weights gives one
// error. At 1202e18 it ended the test with SIGBUS.
func TestFault(t *testing.T) {
	for _, threads := range []int{1, 3} {
		dir := testmodel.Write(t, testmodel.Named("odd"))
		c, err := model.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 1<<16); err != nil {
			t.Skip("needs mapped files that can be cut: ", err)
		}
		pool := parallel.New(threads)
		defer pool.Close()
		if _, err := encoder.New(c, encoder.Options{Pool: pool}); !errors.Is(err, model.ErrChanged) {
			t.Errorf("%d threads: error = %v, want ErrChanged", threads, err)
		}
	}
}

// TestInterrupt checks that loading ends when the context of the checkpoint does.
func TestInterrupt(t *testing.T) {
	c := testmodel.Open(t, "odd")
	late := &testmodel.Countdown{Context: t.Context(), Left: 5}
	if _, err := encoder.New(c.WithContext(late), encoder.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want Canceled", err)
	}
}
