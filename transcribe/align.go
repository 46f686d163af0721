package transcribe

import (
	"slices"

	"verity/audio"
	"verity/decoder"
	"verity/internal/timing"
	"verity/tokenizer"
)

// A wordTime is a word with its times, in seconds from the start of the window.
type wordTime struct {
	word        string
	tokens      []tokenizer.Token
	start, end  float64
	probability float64 // mean of its tokens
}

// alignmentHeads returns the heads whose attention follows the speech: those that the
// checkpoint names, or all heads of the upper half of the layers, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/model.py, Whisper.__init__.
func (m *Model) alignmentHeads() (heads []decoder.Head) {
	if named := m.Generation.AlignmentHeads; len(named) > 0 {
		for _, h := range named {
			heads = append(heads, decoder.Head{Layer: h[0], Head: h[1]})
		}
		return heads
	}
	layers := m.Dims.TextLayers
	for layer := layers / 2; layer < layers; layer++ {
		for head := range m.Dims.TextHeads {
			heads = append(heads, decoder.Head{Layer: layer, Head: head})
		}
	}
	return heads
}

// timesOf returns the times of words from the attention of text tokens.
//
//	a       of start sequence, <|notimestamps|>, text, <|endoftext|>
//	start   length of the start sequence
//	words   of the text and <|endoftext|>, with their tokens
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func timesOf(a *decoder.Alignment, positions, start int, words []string, groups [][]tokenizer.Token) []wordTime {
	if len(groups) <= 1 {
		return nil // end-of-text alone
	}
	cost := timing.Cost(a.Weights, positions, start)
	begins := make([]int, cost.Rows)
	path := timing.Path(cost)
	for _, step := range slices.Backward(path) {
		begins[step.Row] = step.Col // the first of each row stays
	}
	times := make([]wordTime, len(groups)-1)
	at := 0
	for i, g := range groups[:len(groups)-1] {
		end := at + len(g)
		times[i] = wordTime{
			word: words[i], tokens: slices.Clone(g),
			start: secondsAt(begins[at]), end: secondsAt(begins[end]),
			probability: meanProb(a.Probs[at:end]),
		}
		at = end
	}
	return times
}

// secondsAt returns the time of an audio position of 20 ms.
func secondsAt(position int) float64 {
	return float64(position) / (audio.FramesPerSecond / framesPerStep)
}

func meanProb(probs []float32) float64 {
	sum := 0.0
	for _, p := range probs {
		sum += float64(p)
	}
	return sum / float64(len(probs))
}
