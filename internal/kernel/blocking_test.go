package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"verity/precision"
)

// TestBlocking: blocks of weights and of inputs stay where they are used again, on processors that are
// often met, by what their makers say of their caches.
func TestBlocking(t *testing.T) {
	for _, tt := range []struct {
		processor string
		caches    cacheSizes
		format    precision.Format
		rows, in  int
		want      blockSize
	}{
		{"Cascade Lake", cacheSizes{32 << 10, 1 << 20}, precision.F16, 500, 1280, blockSize{96, 80}},
		{"Cascade Lake", cacheSizes{32 << 10, 1 << 20}, precision.Int8, 500, 1280, blockSize{maxRows, 384}},
		{"Sapphire Rapids", cacheSizes{48 << 10, 2 << 20}, precision.F32, 1500, 1280, blockSize{maxRows, 128}},
		{"Sapphire Rapids", cacheSizes{48 << 10, 2 << 20}, precision.F32, 1500, 5120, blockSize{maxRows, 128}}, // no rows fit
		{"Zen 2", cacheSizes{32 << 10, 512 << 10}, precision.F32, 1500, 512, blockSize{96, 80}},
		{"Zen 2", cacheSizes{32 << 10, 512 << 10}, precision.F32, 100, 512, blockSize{maxRows, 80}}, // all rows fit
		{"Zen 5", cacheSizes{48 << 10, 1 << 20}, precision.F16, 1500, 512, blockSize{maxRows, 128}},
		{"M1", cacheSizes{128 << 10, 12 << 20}, precision.F32, 1500, 5120, blockSize{maxRows, maxDepth}},
	} {
		w, err := NewMatrix(tt.format, 64, tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.blockSizeFor(tt.rows, tt.caches); got != tt.want {
			t.Errorf("%s, %v, %d rows of %d: %v, want %v", tt.processor, tt.format, tt.rows, tt.in, got, tt.want)
		}
	}
}

func TestReadCaches(t *testing.T) {
	dir := t.TempDir()
	for i, files := range []map[string]string{
		{"level": "1\n", "type": "Data\n", "size": "48K\n"}, {"level": "1\n", "type": "Instruction\n", "size": "32K\n"},
		{"level": "2\n", "type": "Unified\n", "size": "2048K\n"}, {"level": "3\n", "type": "Unified\n", "size": "107520K\n"},
	} {
		for name, text := range files {
			path := filepath.Join(dir, fmt.Sprint("index", i), name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c := readCaches(dir); c != (cacheSizes{48 << 10, 2 << 20}) {
		t.Errorf("%+v, want 48 KiB and 2 MiB", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "index0", "size"), []byte("many"), 0o666); err != nil {
		t.Fatal(err)
	}
	if c := readCaches(dir); c != (cacheSizes{0, 2 << 20}) {
		t.Errorf("%+v, want no first level", c)
	}
	if c := readCaches(t.TempDir()); c != (cacheSizes{}) {
		t.Errorf("%+v of nothing", c)
	}
	if c := caches; c.First < 8<<10 || c.Second < c.First {
		t.Errorf("%+v of this machine", c)
	}
}

// TestBlocked: products go by the caches that there are.
func TestBlocked(t *testing.T) {
	saved, before := caches, use
	defer func() { caches, use = saved, before }()
	rng := rand.New(rand.NewPCG(41, 42))
	for _, f := range []precision.Format{precision.F32, precision.F16, precision.Int8} {
		w := newProduct(t, rng, uniform(rng), 1, 1280, 128, f).w
		for _, use = range sets {
			for _, c := range []cacheSizes{{32 << 10, 256 << 10}, {48 << 10, 2 << 20}} {
				caches = c
				m := &matmul{rows: 1500, w: w, stride: w.out}
				m.setBlockSize()
				want := w.blockSizeFor(1500, c)
				if f == precision.Int8 && use.int8s.rowGroup > 0 { // groups of rows stay in half of the second level
					want = blockSize{max(maxRows, c.Second/2/w.depth()&^(use.int8s.rowGroup-1)), maxInt8Depth}
				}
				if got := (blockSize{m.unitRows, m.depth}); got != want {
					t.Errorf("%v, %s, caches %v: %v, want %v", f, use.name, c, got, want)
				}
			}
		}
	}
}
