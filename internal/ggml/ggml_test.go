package ggml

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestBlocks compares every type of block with ggml's own dequantisation, bit for
// bit: tools/reference/ggml_blocks.c.
func TestBlocks(t *testing.T) {
	raw, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string][]struct{ Block, Bits string }
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	for kind, b := range types {
		if b.block == nil {
			continue
		}
		if len(golden[b.name]) < 8 {
			t.Errorf("type %d, %s: %d blocks to compare", kind, b.name, len(golden[b.name]))
		}
		for n, g := range golden[b.name] {
			block, err := hex.DecodeString(g.Block)
			if err != nil || len(block) != b.bytes {
				t.Fatalf("%s: %d bytes, want %d, %v", b.name, len(block), b.bytes, err)
			}
			var got [32]float32
			b.block(got[:], block)
			for i, x := range got {
				want, err := strconv.ParseUint(g.Bits[8*i:8*i+8], 16, 32)
				if err != nil || math.Float32bits(x) != uint32(want) {
					t.Fatalf("%s: block %d, weight %d = %08x, want %08x, %v", b.name, n, i, math.Float32bits(x), want, err)
				}
			}
		}
	}
}

// small returns a file with a tensor of each type.
func small() []byte {
	var b []byte
	put := func(numbers ...int) {
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	}
	b = append(b, Magic...)
	put(40, 20, 32, 2, 1, 12, 32, 2, 1, 8, 2001)
	put(1, 2, 0, 0)
	put(2, 1)
	b = append(b, 'A')
	put(0)
	for kind, t := range types {
		put(2, 2, kind, 64, 3)
		b = append(b, 't', byte('a'+kind))
		b = append(b, make([]byte, 3*64/t.weights*t.bytes)...)
	}
	return b
}

func TestParse(t *testing.T) {
	m, err := Parse(small())
	if err != nil {
		t.Fatal(err)
	}
	if m.Hparams.Vocab != 40 || m.Hparams.Mels != 8 || m.Bins != 1 || m.Frequencies != 2 || m.Filter(0, 1) != 0 || !slices.Equal(m.Vocab, []string{"A", ""}) {
		t.Errorf("%+v, filters %v, vocabulary %q", m.Hparams, m.Bins, m.Vocab)
	}
	for _, e := range m.Tensors {
		if !slices.Equal(e.Shape, []int{3, 64}) || e.Quantised() != (e.Type[0] == 'q') {
			t.Errorf("%s: %v", e.Name, e)
		}
	}
}

// FuzzParse: whatever parses can be read in full.
func FuzzParse(f *testing.F) {
	f.Add(small())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		for _, e := range m.Tensors {
			if x := e.Tensor(); len(x.Float32()) != e.Len() {
				t.Fatalf("%v has %d values", e, x.Len())
			}
		}
	})
}
