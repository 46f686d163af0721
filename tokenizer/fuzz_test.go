package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// TestEncodeMillion compares a million generated strings with tiktoken, under
// both tables, by hashes of a thousand at a time (50,000 strings with -short).
// When a block differs,
//
//	tools/reference/tokenizer_goldens.py --block <n>
//
// prints its strings and tiktoken's tokens.
func TestEncodeMillion(t *testing.T) {
	raw, err := os.ReadFile("testdata/fuzz.hashes")
	if err != nil {
		t.Fatal(err)
	}
	head, hashes, _ := bytes.Cut(raw, []byte("\n"))
	var blocks, size int
	if _, err := fmt.Sscanf(string(head), "verity tokenizer fuzz 1: %d blocks of %d strings", &blocks, &size); err != nil {
		t.Fatalf("fuzz.hashes: %q: %v", head, err)
	}
	if len(hashes) != 20*blocks {
		t.Fatalf("fuzz.hashes: %d bytes for %d blocks", len(hashes), blocks)
	}
	if testing.Short() {
		blocks = min(blocks, 50_000/size)
	}
	gen := newGenerator(t)
	toks := []*Tokenizer{embedded(t, VocabEnglish), embedded(t, VocabLargeV3)}
	var wg sync.WaitGroup
	for worker := range 2 {
		wg.Go(func() {
			for b := worker; b < blocks; b += 2 {
				if got, want := blockHashes(gen, toks, b, size), hashes[20*b:20*b+20]; !bytes.Equal(got, want) {
					t.Errorf("block %d: %x, want %x (4 bytes of strings, 8 of gpt2, 8 of multilingual; %s)", b, got, want, head)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d strings compared", blocks*size)
}

// blockHashes returns 4 bytes of hash of the strings of a block and 8 of their
// tokens by each tokenizer.
func blockHashes(gen *generator, toks []*Tokenizer, block, size int) []byte {
	texts := make([]string, size)
	h := sha256.New()
	for i := range texts {
		texts[i] = gen.text(uint64(block*size + i))
		binary.Write(h, binary.LittleEndian, uint32(len(texts[i])))
		h.Write([]byte(texts[i]))
	}
	out := h.Sum(nil)[:4]
	for _, tok := range toks {
		h.Reset()
		var buf []byte
		for _, s := range texts {
			buf = buf[:0]
			for _, id := range tok.Encode(s) {
				buf = binary.LittleEndian.AppendUint32(buf, uint32(id))
			}
			h.Write(append(buf, 0xff, 0xff, 0xff, 0xff))
		}
		out = append(out, h.Sum(nil)[:8]...)
	}
	return out
}

// A generator makes the strings of tokenizer_goldens.py, class Generator. Its
// pools are shared with it through testdata/pools.json.
type generator struct {
	words   [2][]string
	strings map[string][]string
	ranges  map[string][][2]rune
}

func newGenerator(t testing.TB) *generator {
	t.Helper()
	raw, err := os.ReadFile("testdata/pools.json")
	if err != nil {
		t.Fatal(err)
	}
	var pools map[string]json.RawMessage
	if err := json.Unmarshal(raw, &pools); err != nil {
		t.Fatal(err)
	}
	g := &generator{strings: map[string][]string{}, ranges: map[string][][2]rune{}}
	for name, pool := range pools {
		var s []string
		if json.Unmarshal(pool, &s) == nil {
			g.strings[name] = s
			continue
		}
		var r [][2]rune
		if err := json.Unmarshal(pool, &r); err != nil {
			t.Fatal(err)
		}
		g.ranges[name] = r
	}
	for i, vocab := range []int{VocabEnglish, VocabMultilingual} {
		tok := embedded(t, vocab)
		for id := range tok.EOT {
			s := string(tok.Bytes(id))
			if !utf8.ValidString(s) {
				s = ""
			}
			g.words[i] = append(g.words[i], s)
		}
	}
	return g
}

// A splitmix is Rng of tokenizer_goldens.py.
type splitmix uint64

func newSplitmix(i uint64) *splitmix {
	x := splitmix(i * 0xD1342543DE82EF95)
	return &x
}

// next returns a number below n.
func (s *splitmix) next(n int) int {
	*s += 0x9E3779B97F4A7C15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return int((x ^ x>>31) >> 32 % uint64(n))
}

// text returns string i.
func (g *generator) text(i uint64) string {
	r := newSplitmix(i)
	var out strings.Builder
	for range r.next(9) {
		if r.next(2) == 0 {
			out.WriteByte(' ')
		}
		g.segment(r, &out)
	}
	return out.String()
}

func (g *generator) segment(r *splitmix, out *strings.Builder) {
	switch kind := r.next(16); {
	case kind < 5:
		words := g.words[kind&1]
		for range 1 + r.next(4) {
			out.WriteString(words[r.next(len(words))])
		}
	case kind < 7:
		scripts := g.ranges["scripts"]
		script := scripts[r.next(len(scripts))]
		chars(r, out, [][2]rune{script}, 1+r.next(8))
	case kind == 7:
		out.WriteString(g.pick(r, "endings"))
	case kind == 8:
		pool := g.ranges["numbers"]
		if r.next(2) == 0 {
			pool = pool[:1]
		}
		chars(r, out, pool, 1+r.next(6))
	case kind == 9:
		for range 1 + r.next(5) {
			out.WriteString(g.pick(r, "spaces"))
		}
	case kind == 10:
		chars(r, out, g.ranges["emoji"], 1+r.next(5))
	case kind == 11:
		chars(r, out, g.ranges["scripts"], 1)
		chars(r, out, g.ranges["marks"], 1+r.next(4))
	case kind == 12:
		chars(r, out, g.ranges["punctuation"], 1+r.next(4))
	case kind == 13:
		chars(r, out, g.ranges["controls"], 1+r.next(3))
	case kind == 14:
		for range 1 + r.next(4) {
			c := rune(r.next(0x110000))
			if c >= 0xD800 && c <= 0xDFFF {
				c -= 0x800
			}
			out.WriteRune(c)
		}
	case r.next(4) == 0:
		out.WriteString(g.pick(r, "special"))
	default:
		most := 30
		if r.next(8) == 0 {
			most = 200
		}
		n := 1 + r.next(most)
		out.WriteString(strings.Repeat(g.pick(r, "repeated"), n))
	}
}

func (g *generator) pick(r *splitmix, pool string) string {
	return g.strings[pool][r.next(len(g.strings[pool]))]
}

func chars(r *splitmix, out *strings.Builder, ranges [][2]rune, n int) {
	for range n {
		c := ranges[r.next(len(ranges))]
		out.WriteRune(c[0] + rune(r.next(int(c[1]-c[0]+1))))
	}
}
