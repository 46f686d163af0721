package kernel

import (
	"container/list"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"verity/precision"
)

// Caches of processors that are often met, by what their makers publish.
var knownCaches = map[string]CacheSizes{
	"Cascade Lake":    {32 << 10, 1 << 20},
	"Sapphire Rapids": {48 << 10, 2 << 20},
	"Zen 2":           {32 << 10, 512 << 10},
	"Zen 5":           {48 << 10, 1 << 20},
	"Neoverse N1":     {64 << 10, 1 << 20},
	"M1":              {128 << 10, 12 << 20},
}

// An lru is a cache that forgets what was used longest ago.
type lru struct {
	free  int       // bytes
	order list.List // of held, the latest first
	at    map[piece]*list.Element
	moved int // bytes brought in
}

// A piece is some of the weights (0), of x (1) or of the sums (2), by its place.
type piece struct{ of, where, k int }

type held struct {
	piece
	size int
}

func newLRU(size int) *lru { return &lru{free: size, at: map[piece]*list.Element{}} }

// use touches a piece, no larger than the cache, and reports whether it was not there.
func (c *lru) use(p piece, size int) bool {
	if e := c.at[p]; e != nil {
		c.order.MoveToFront(e)
		return false
	}
	c.moved += size
	c.at[p] = c.order.PushFront(held{p, size})
	for c.free -= size; c.free < 0 && c.order.Len() > 0; {
		last := c.order.Remove(c.order.Back()).(held)
		delete(c.at, last.piece)
		c.free += last.size
	}
	return true
}

// replay goes through a product as matmul.unit does, on caches that forget what was used
// longest ago, and counts what they bring in.
func (b blocking) replay(s shape, c CacheSizes) traffic {
	first, second := newLRU(c.First), newLRU(c.Second)
	touch := func(p piece, size, stored int) {
		if first.use(p, size) {
			second.use(p, stored)
		}
	}
	x, stored, used := s.sizes()
	depth := evenly(s.in, b.depth)
	for lo := 0; lo < s.rows; lo += b.rows {
		for p := range s.panels {
			for k := 0; k < s.in; k += depth {
				n := min(depth, s.in-k)
				for r := lo; r < min(lo+b.rows, s.rows); r += few {
					m := min(few, s.rows-r)
					touch(piece{0, p, k}, n*panel*used, n*panel*stored)
					touch(piece{1, r, k}, m*n*x, m*n*x)
					touch(piece{2, r - lo, 0}, m*panel*4, 0)
				}
			}
		}
	}
	return traffic{first.moved, second.moved}
}

// TestPlan replays products of Whisper's encoders on caches of several processors: a plan
// moves what it is said to move, and hardly more than the blocks of a fixed size that there
// were before: it leaves room that they, replayed without anything beside them, fill.
func TestPlan(t *testing.T) {
	for name, c := range knownCaches {
		for _, s := range []shape{
			{rows: 400, in: 384, panels: 18}, {rows: 400, in: 1280, panels: 20}, {rows: 200, in: 5120, panels: 10},
			{rows: 100, in: 768, panels: 12},
		} {
			for _, s.weights = range []precision.Format{precision.F32, precision.F16, precision.Int8} {
				old := blocking{maxRows, maxDepth}
				if s.weights == precision.Int8 {
					old.depth = maxInt8Depth
				}
				b := plan(s, c)
				said, moved, before := b.traffic(s, c), b.replay(s, c), old.replay(s, c)
				// The first level brings sums in and takes them back.
				if f := float64(moved.first) / float64(said.first); !(f > 0.6 && f < 1.1) {
					t.Errorf("%s, %+v by %+v: %d bytes into the first level, said to be %d", name, s, b, moved.first, said.first)
				}
				if f := float64(moved.second) / float64(said.second); !(f < 1.1) {
					t.Errorf("%s, %+v by %+v: %d bytes into the second level, said to be %d", name, s, b, moved.second, said.second)
				}
				cost := func(t traffic) float64 { return float64(t.first + farther*t.second) }
				if !(cost(moved) <= 1.3*cost(before)) {
					t.Errorf("%s, %+v by %+v: moves %+v, fixed blocks %+v", name, s, b, moved, before)
				}
			}
		}
	}
}

// TestPlanCascadeLake: the processor with the least cache for its speed. A product of
// large-v2 moves less than a third of what it moved.
func TestPlanCascadeLake(t *testing.T) {
	c := knownCaches["Cascade Lake"]
	s := shape{rows: 500, in: 1280, panels: 20, weights: precision.F16}
	b := plan(s, c)
	if want := (blocking{96, 80}); b != want {
		t.Errorf("blocks %+v, want %+v", b, want)
	}
	moved, before := b.replay(s, c), blocking{maxRows, maxDepth}.replay(s, c)
	t.Logf("first level %d MB, before %d; second %d MB, before %d", moved.first>>20, before.first>>20, moved.second>>20, before.second>>20)
	if 3*moved.first > before.first || 2*moved.second > before.second {
		t.Errorf("moves %+v, before %+v", moved, before)
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
	if c := readCaches(dir); c != (CacheSizes{48 << 10, 2 << 20}) {
		t.Errorf("%+v, want 48 KiB and 2 MiB", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "index0", "size"), []byte("many"), 0o666); err != nil {
		t.Fatal(err)
	}
	if c := readCaches(dir); c != (CacheSizes{0, 2 << 20}) {
		t.Errorf("%+v, want no first level", c)
	}
	if c := readCaches(t.TempDir()); c != (CacheSizes{}) {
		t.Errorf("%+v of nothing", c)
	}
	if c := caches; c.First < 8<<10 || c.Second < c.First {
		t.Errorf("%+v of this machine", c)
	}
	if said, system := machineCaches(), systemCaches(); system != (CacheSizes{}) && said != system {
		t.Errorf("the processor says %+v, the system %+v", said, system)
	}
}

// TestPlanned: products go by the plan for the caches that there are.
func TestPlanned(t *testing.T) {
	saved, tile := caches, int8s
	defer func() { caches, int8s = saved, tile }()
	rng := rand.New(rand.NewPCG(41, 42))
	for _, f := range []precision.Format{precision.F32, precision.F16, precision.Int8} {
		w := newProduct(t, rng, uniform(rng), 1, 1280, 128, f).w
		for _, im := range int8Impls {
			int8s = im
			for _, c := range []CacheSizes{{32 << 10, 256 << 10}, {48 << 10, 2 << 20}} {
				caches = c
				m := &matmul{rows: 1500, w: w, stride: w.out}
				m.block()
				want := plan(shape{1500, w.depth(), w.panels(), f}, c)
				if f == precision.Int8 && im.fn.group > 0 { // groups of rows stay in half of the second level
					want = blocking{max(maxRows, c.Second/2/w.depth()&^(im.fn.group-1)), maxInt8Depth}
				}
				if got := (blocking{m.unitRows, m.depth}); got != want {
					t.Errorf("%v, %s, caches %v: %v, want %v", f, im.name, c, got, want)
				}
			}
		}
	}
	big, small := plan(shape{1500, 1280, 20, precision.F32}, CacheSizes{48 << 10, 2 << 20}), plan(shape{1500, 1280, 20, precision.F32}, CacheSizes{16 << 10, 128 << 10})
	if big == small {
		t.Errorf("%v for large caches and for small ones: the test shows nothing", big)
	}
}
