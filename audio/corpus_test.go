package audio

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// shared returns a path under ../shared/data, beside the repository, and skips
// the test where that folder is not there.
func shared(t testing.TB, path string) string {
	t.Helper()
	p := filepath.Join("..", "..", "shared", "data", path)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("no shared data beside the repository: %v", err)
	}
	return p
}

// readAll reads a clip to its end in uneven pieces.
func readAll(t testing.TB, c *Clip) ([]float32, error) {
	t.Helper()
	var pcm []float32
	buf := make([]float32, 1009)
	for {
		n, err := c.Read(buf)
		pcm = append(pcm, buf[:n]...)
		if err == io.EOF {
			return pcm, nil
		}
		if err != nil {
			return pcm, err
		}
	}
}

// TestBadWAV opens every file of the collection: samples or one clear error.
func TestBadWAV(t *testing.T) {
	f, err := os.Open(shared(t, "badwav/manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var item struct{ File, Expect string }
		if err := json.Unmarshal(lines.Bytes(), &item); err != nil {
			t.Fatal(err)
		}
		t.Run(item.File, func(t *testing.T) {
			c, err := Open(shared(t, filepath.Join("badwav", item.File)))
			var pcm []float32
			if err == nil {
				defer c.Close()
				pcm, err = readAll(t, c)
			}
			t.Logf("%s: %d samples, %v", item.Expect, len(pcm), err)
			var fe *FormatError
			if err != nil && !errors.As(err, &fe) {
				t.Errorf("error is no FormatError: %v", err)
			}
		})
	}
}
