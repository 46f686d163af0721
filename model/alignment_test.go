package model

import (
	"slices"
	"testing"

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
