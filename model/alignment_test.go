package model

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/formats/ggml"
	"verity/tokenizer"
)

// TestHeadsOf checks that every published size has heads within its sizes, and that the
// name decides between the two models of the same sizes.
func TestHeadsOf(t *testing.T) {
	for size, heads := range publishedHeads {
		if len(heads) < 5 || !slices.IsSortedFunc(heads, func(a, b [2]int) int { return 100*(a[0]-b[0]) + a[1] - b[1] }) {
			t.Errorf("%v: %v", size, heads)
		}
		for _, h := range heads {
			if h[0] >= size.textLayers || h[1] >= size.textHeads || h[0] < size.textLayers/4-1 {
				t.Errorf("%v: layer and head %v", size, h)
			}
		}
	}
	large := Dims{TextLayers: 32, TextHeads: 20, Vocab: tokenizer.VocabMultilingual}
	for name, first := range map[string][2]int{
		"large-v1.pt": {9, 19}, "/x/ggml-Large-V1-q5_0.bin": {9, 19}, "large-v2.pt": {10, 12}, "large-v1/mine.pt": {10, 12}, "large.pt": {10, 12},
	} {
		if got := headsOf(large, name); got[0] != first {
			t.Errorf("%s: %v, want %v first", name, got, first)
		}
	}
	large.Vocab = tokenizer.VocabLargeV3
	if got := headsOf(large, "large-v1.pt"); got[0] != [2]int{7, 0} {
		t.Errorf("large-v3: %v", got)
	}
	for _, d := range []Dims{{TextLayers: 2, TextHeads: 20, Vocab: tokenizer.VocabMultilingual}, {TextLayers: 4, TextHeads: 6, Vocab: 40}} {
		if got := headsOf(d, "x"); got != nil {
			t.Errorf("%+v, which openai did not publish: %v", d, got)
		}
	}
}

// TestFilters checks that every weight of the mel filters of a ggml file is compared with
// ours.
func TestFilters(t *testing.T) {
	b, err := os.ReadFile("testdata/foreign/ggml-model.bin")
	if err != nil {
		t.Fatal(err)
	}
	const filters = 56 // bytes before them
	check := func(edit func(b []byte)) error {
		c := slices.Clone(b)
		edit(c)
		m, err := ggml.Parse(c)
		if err != nil {
			t.Fatal(err)
		}
		return checkFilters(m)
	}
	if err := check(func([]byte) {}); err != nil {
		t.Error(err)
	}
	at := func(bin, k int) int { return filters + 4*(201*bin+k) }
	for name, tt := range map[string]struct {
		bin, k int
		by     float32
		want   string
	}{
		"another weight": {3, 25, 1e-4, "mel filter 3, frequency 25: got "},
		"beside its own": {0, 200, 1e-4, "mel filter 0, frequency 200: got 0.0001"},
		"not a number":   {7, 180, float32(math.NaN()), "mel filter 7, frequency 180: got NaN"},
	} {
		err := check(func(b []byte) {
			p := b[at(tt.bin, tt.k):]
			binary.LittleEndian.PutUint32(p, math.Float32bits(math.Float32frombits(binary.LittleEndian.Uint32(p))+tt.by))
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "another front end") {
			t.Errorf("%s: error = %v, want %q", name, err, tt.want)
		}
	}
	if err := check(func(b []byte) { binary.LittleEndian.PutUint32(b[48:], 201); binary.LittleEndian.PutUint32(b[52:], 8) }); err == nil ||
		!strings.Contains(err.Error(), "have 8 frequencies, want 201") {
		t.Errorf("frequencies: %v", err)
	}
}

// TestHeadsOfFiles opens published weights in the formats that keep no heads.
// VERITY_FOREIGN names a directory of them, see TestForeign.
func TestHeadsOfFiles(t *testing.T) {
	dir := os.Getenv("VERITY_FOREIGN")
	if dir == "" {
		t.Skip("VERITY_FOREIGN names no directory of published weights")
	}
	found := 0
	for _, pattern := range []string{"*.pt", "ggml-*.bin"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			c, err := Open(t.Context(), file)
			if err != nil {
				t.Error(err)
				continue
			}
			if found++; len(c.Generation.AlignmentHeads) == 0 {
				t.Errorf("%s has no alignment heads", file)
			}
			c.Close()
		}
	}
	if found == 0 {
		t.Errorf("%s: nothing found", dir)
	}
}
