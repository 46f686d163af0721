package transcribe

import (
	"slices"

	"verity/audio"
	"verity/decoder"
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

// timesOf returns the times of words.
//
//	edges   the audio positions at which they begin, and that of <|endoftext|>
//	probs   the probabilities of their tokens
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, find_alignment.
func timesOf(edges []float64, probs []float32, words []string, groups [][]tokenizer.Token) []wordTime {
	times := make([]wordTime, len(edges)-1)
	for i := range times {
		n := len(groups[i])
		times[i] = wordTime{
			word: words[i], tokens: slices.Clone(groups[i]),
			start: secondsAt(edges[i]), end: secondsAt(edges[i+1]),
			probability: meanProb(probs[:n]),
		}
		probs = probs[n:]
	}
	return times
}

// secondsAt returns the time of an audio position of 20 ms.
func secondsAt(position float64) float64 {
	return position / (audio.FramesPerSecond / framesPerStep)
}

func meanProb(probs []float32) float64 {
	sum := 0.0
	for _, p := range probs {
		sum += float64(p)
	}
	return sum / float64(len(probs))
}
