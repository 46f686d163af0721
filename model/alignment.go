package model

import (
	"path/filepath"
	"strings"

	"verity/tokenizer"
)

// A publishedSize identifies a published model by its sizes, where the file says nothing
// else.
type publishedSize struct{ textLayers, textHeads, vocab int }

// publishedHeads are the heads of the decoder whose attention follows the speech, as
// openai found them for each model: layer and head.
//
// Source: openai/whisper@c0d2f62 whisper/__init__.py, _ALIGNMENT_HEADS, unpacked.
var publishedHeads = map[publishedSize][][2]int{
	{4, 6, tokenizer.VocabEnglish}:      {{1, 0}, {2, 0}, {2, 5}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}},
	{4, 6, tokenizer.VocabMultilingual}: {{2, 2}, {3, 0}, {3, 2}, {3, 3}, {3, 4}, {3, 5}},
	{6, 8, tokenizer.VocabEnglish}:      {{3, 3}, {4, 7}, {5, 1}, {5, 5}, {5, 7}},
	{6, 8, tokenizer.VocabMultilingual}: {{3, 1}, {4, 2}, {4, 3}, {4, 7}, {5, 1}, {5, 2}, {5, 4}, {5, 6}},
	{12, 12, tokenizer.VocabEnglish}: {{6, 6}, {7, 0}, {7, 3}, {7, 8}, {8, 2}, {8, 5}, {8, 7}, {9, 0}, {9, 4},
		{9, 8}, {9, 10}, {10, 0}, {10, 1}, {10, 2}, {10, 3}, {10, 6}, {10, 11}, {11, 2}, {11, 4}},
	{12, 12, tokenizer.VocabMultilingual}: {{5, 3}, {5, 9}, {8, 0}, {8, 4}, {8, 7}, {8, 8}, {9, 0}, {9, 7}, {9, 9}, {10, 5}},
	{24, 16, tokenizer.VocabEnglish}: {{11, 4}, {14, 1}, {14, 12}, {14, 14}, {15, 4}, {16, 0}, {16, 4}, {16, 9},
		{17, 12}, {17, 14}, {18, 7}, {18, 10}, {18, 15}, {20, 0}, {20, 3}, {20, 9}, {20, 14}, {21, 12}},
	{24, 16, tokenizer.VocabMultilingual}: {{13, 15}, {15, 4}, {15, 15}, {16, 1}, {20, 0}, {23, 4}},
	{32, 20, tokenizer.VocabMultilingual}: {{10, 12}, {13, 17}, {16, 11}, {16, 12}, {16, 13}, {17, 15}, {17, 16},
		{18, 4}, {18, 11}, {18, 19}, {19, 11}, {21, 2}, {21, 3}, {22, 3}, {22, 9}, {22, 12}, {23, 5},
		{23, 7}, {23, 13}, {25, 5}, {26, 1}, {26, 12}, {27, 15}},
	{32, 20, tokenizer.VocabLargeV3}: {{7, 0}, {10, 17}, {12, 18}, {13, 12}, {16, 1}, {17, 14}, {19, 11}, {21, 4}, {24, 1}, {25, 6}},
	{4, 20, tokenizer.VocabLargeV3}:  {{2, 4}, {2, 11}, {3, 3}, {3, 6}, {3, 11}, {3, 14}},
}

// headsOfV1 are the heads of large-v1, which has the sizes of large-v2.
var headsOfV1 = [][2]int{{9, 19}, {11, 2}, {11, 4}, {11, 17}, {22, 7}, {22, 11}, {22, 17}, {23, 2}, {23, 15}}

// headsOf returns the heads of a published model of these sizes; nil if there is none.
// Files of openai/whisper and whisper.cpp do not keep them. A fine-tuned model has the
// sizes of its base model and nearly its heads. large-v1 and large-v2 have the same
// sizes: a file counts as large-v2, which is used much more, unless its name says v1.
func headsOf(d Dims, file string) [][2]int {
	size := publishedSize{d.TextLayers, d.TextHeads, d.Vocab}
	if strings.Contains(strings.ToLower(filepath.Base(file)), "large-v1") &&
		size == (publishedSize{32, 20, tokenizer.VocabMultilingual}) {
		return headsOfV1
	}
	return publishedHeads[size]
}
