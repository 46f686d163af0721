package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"verity/eval"
)

// TestCompareWarm: both arms have decoded before anything is measured.
func TestCompareWarm(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "tone.wav")
	if err := os.WriteFile(sound, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := 0
	c := compareWith(env{out: io.Discard, err: io.Discard}, func(ctx context.Context, v *comparing, data *corpus) (*contest, error) {
		c, err := openArms(ctx, v, data)
		if err != nil {
			return nil, err
		}
		opened++
		for name, e := range map[string]eval.Engine{"baseline": c.Baseline, "assisted": c.Assisted} {
			if clock, ok := e.(eval.Clock); !ok || clock.Decoding() == 0 {
				t.Errorf("%s is cold", name)
			}
		}
		return c, nil
	})
	c.SetArgs([]string{"-q", "-m", modelDir(t), "-l", "en", "-a", "self", "--draft-tokens", "2", "--warmup", "0", "--audio", sound})
	if err := c.ExecuteContext(t.Context()); err != nil || opened != 1 {
		t.Errorf("opened %d times: %v", opened, err)
	}
}
