package synth

import (
	"fmt"
	"slices"
	"strings"

	"verity/model"
	"verity/tokenizer"
)

// A size is a published shape.
type size struct {
	name              string
	width, heads      int
	encoder, decoder  int // layers
	melBins, vocabAll int
}

// sizes are the published shapes, smallest first. Source: config.json of
// openai/whisper-* and distil-whisper/distil-*.
var sizes = []size{
	{"tiny.en", 384, 6, 4, 4, 80, tokenizer.VocabEnglish},
	{"tiny", 384, 6, 4, 4, 80, tokenizer.VocabMultilingual},
	{"base.en", 512, 8, 6, 6, 80, tokenizer.VocabEnglish},
	{"base", 512, 8, 6, 6, 80, tokenizer.VocabMultilingual},
	{"small.en", 768, 12, 12, 12, 80, tokenizer.VocabEnglish},
	{"small", 768, 12, 12, 12, 80, tokenizer.VocabMultilingual},
	{"distil-small.en", 768, 12, 12, 4, 80, tokenizer.VocabEnglish},
	{"medium.en", 1024, 16, 24, 24, 80, tokenizer.VocabEnglish},
	{"medium", 1024, 16, 24, 24, 80, tokenizer.VocabMultilingual},
	{"distil-medium.en", 1024, 16, 24, 2, 80, tokenizer.VocabEnglish},
	{"large-v1", 1280, 20, 32, 32, 80, tokenizer.VocabMultilingual},
	{"large-v2", 1280, 20, 32, 32, 80, tokenizer.VocabMultilingual},
	{"distil-large-v2", 1280, 20, 32, 2, 80, tokenizer.VocabMultilingual},
	{"large-v3", 1280, 20, 32, 32, 128, tokenizer.VocabLargeV3},
	{"distil-large-v3", 1280, 20, 32, 2, 128, tokenizer.VocabLargeV3},
	{"large-v3-turbo", 1280, 20, 32, 4, 128, tokenizer.VocabLargeV3},
}

// Sizes returns the names of the published sizes, smallest first.
func Sizes() []string {
	names := make([]string, len(sizes))
	for i, s := range sizes {
		names[i] = s.name
	}
	return names
}

// Dims returns the sizes of the network of a published name.
func Dims(name string) (model.Dims, error) {
	i := slices.IndexFunc(sizes, func(s size) bool { return s.name == name })
	if i < 0 {
		return model.Dims{}, fmt.Errorf("there is no size %q: want one of %s", name, strings.Join(Sizes(), ", "))
	}
	return sizes[i].dims(), nil
}

func (s size) dims() model.Dims {
	return model.Dims{
		MelBins: s.melBins, AudioPositions: 1500,
		AudioWidth: s.width, AudioHeads: s.heads, AudioLayers: s.encoder, AudioFFN: 4 * s.width,
		Vocab: s.vocabAll, TextPositions: 448,
		TextWidth: s.width, TextHeads: s.heads, TextLayers: s.decoder, TextFFN: 4 * s.width,
	}
}

// A Shape is the kind of an assistant's network.
type Shape string

// The shapes of assistants.
const (
	Distil Shape = "distil" // two decoder layers on the target's own encoder, as in distil-whisper
	Tiny   Shape = "tiny"   // a whole Whisper of size tiny with the target's tokens and mel
)

func (s Shape) assistant(target model.Dims) (model.Dims, error) {
	switch s {
	case Distil:
		target.TextLayers = min(2, target.TextLayers)
		return target, nil
	case Tiny:
		d, err := Dims("tiny")
		d.MelBins, d.Vocab = target.MelBins, target.Vocab
		d.AudioPositions, d.TextPositions = target.AudioPositions, target.TextPositions
		return d, err
	}
	return model.Dims{}, fmt.Errorf("there is no shape %q: want %s or %s", s, Distil, Tiny)
}
