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
	"strings"
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
	if m.Sizes["n_vocab"] != 40 || m.Sizes["n_mels"] != 8 || string(m.Vocab) != "000002\n\x01\x00A" {
		t.Errorf("%+v, vocabulary %q", m.Sizes, m.Vocab)
	}
	for _, e := range m.Tensors {
		if !slices.Equal(e.Shape, []int{3, 64}) || e.Quantised() != (e.Type[0] == 'q') {
			t.Errorf("%s: %v", e.Name, e)
		}
	}
}

func TestMalformed(t *testing.T) {
	good := small()
	const vocab = 4 + 11*4 + 2*4 + 2*4 // where the vocabulary begins
	tensor := vocab + 4 + 5 + 4
	set := func(at, value int) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], uint32(value)); return b }
	}
	for name, tt := range map[string]struct {
		edit func(b []byte) []byte
		want string
	}{
		"magic":          {set(0, 0x46554747), `it begins with "GGUF", want "lmgg"`},
		"quantisation":   {set(44, 1002), "quantisation: got version 1, of early 2023, want version 2"},
		"filters":        {set(48, 1<<30), "mel filters of 1073741824 bins"},
		"vocabulary":     {set(vocab, 1<<24), "a vocabulary of 16777216 tokens"},
		"negative":       {set(vocab, -1), "a vocabulary of -1 tokens"},
		"long token":     {set(vocab+4, 1<<28), "vocabulary: the file is cut off"},
		"longer token":   {set(vocab+4, 256), "vocabulary: a token of 256 bytes"},
		"dimensions":     {set(tensor, 9), "a tensor of 9 dimensions"},
		"long name":      {set(tensor+4, 1000), "with a name of 1000 bytes"},
		"type":           {set(tensor+8, 12), "is of type 12, want f32, f16, q4_0, q4_1, q5_0, q5_1 or q8_0"},
		"overflow":       {set(tensor+12, 1<<31-1), "has shape [3 2147483647]"},
		"cut off":        {func(b []byte) []byte { return b[:len(b)-1] }, "cut off"},
		"twice":          {func(b []byte) []byte { return append(b, b[tensor:]...) }, "stands twice"},
		"nothing at all": {func(b []byte) []byte { return nil }, "it begins with"},
	} {
		if _, err := Parse(tt.edit(slices.Clone(good))); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasSuffix(err.Error(), "; download or convert the model again") {
			t.Errorf("%s: error = %v, want %q", name, err, tt.want)
		}
	}
}

// FuzzParse: whatever parses can be read in full.
func FuzzParse(f *testing.F) {
	f.Add(small())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("error %q is not ErrMalformed, or not a short line", err)
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
