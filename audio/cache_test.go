package audio

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"
)

// countedFile counts the bytes read from it.
type countedFile struct {
	*bytes.Reader
	read int
}

func (f *countedFile) ReadAt(b []byte, at int64) (int, error) {
	f.read += len(b)
	return f.Reader.ReadAt(b, at)
}

// TestCache reads a compressed clip in passes: the first two break off, the third is whole, and those after it must be
// the same to the bit without reading the file, unless nothing can be stored.
func TestCache(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stored bool
		change func(t *testing.T, r *sampleCache)
	}{
		{"stored", true, func(*testing.T, *sampleCache) {}},
		{"too long", false, func(_ *testing.T, r *sampleCache) { r.most = 1000 }},
		{"no temporary files", false, func(t *testing.T, _ *sampleCache) { t.Setenv("TMPDIR", "/nowhere"); t.Setenv("TMP", `?:\nowhere`) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := readFLAC(t, "16")
			file := &countedFile{Reader: bytes.NewReader(data)}
			c, err := Input{}.open("x.flac", file, int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r := c.src.(*sampleCache)
			tt.change(t, r)
			var passes [5][]float32
			for i, most := range []int{0, 100, 1 << 30, 1 << 30, 4000} {
				before := file.read
				if err := c.Rewind(); err != nil {
					t.Fatal(err)
				}
				if passes[i], err = c.Samples(most); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(make([]float32, 1)); most == 1<<30 && (n != 0 || err != io.EOF) {
					t.Errorf("pass %d: %d samples and %v after the end", i, n, err)
				}
				if decoded := file.read > before; decoded != (i < 3 || !tt.stored) {
					t.Errorf("pass %d: decoded is %t", i, decoded)
				}
			}
			all := passes[2]
			if len(all) < 5000 || !slices.Equal(all, passes[3]) || !slices.Equal(all[:4000], passes[4]) || !slices.Equal(all[:100], passes[1]) {
				t.Errorf("passes of %d, %d, %d and %d samples, want the same", len(passes[1]), len(all), len(passes[3]), len(passes[4]))
			}
			if tt.stored != (r.stored != nil) {
				t.Errorf("stored is %t, want %t", !tt.stored, tt.stored)
			}
		})
	}
}

// TestCacheRemovesFile: no temporary file is left, whether the clip was read to its end or not, nor of a stream.
func TestCacheRemovesFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	for _, most := range []int{10, 1 << 30} {
		c, err := openBytes(readFLAC(t, "16"))
		if most > 10 {
			c, err = Input{}.OpenStream(t.Context(), "x.flac", bytes.NewReader(readFLAC(t, "16")))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Samples(most); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%d files are left", len(left))
		}
	}
}
