package live

import (
	"fmt"
	"slices"

	"verity/audio"
	"verity/vad"
)

// EarOptions configures an Ear. The names are those of OpenAI's server_vad.
type EarOptions struct {
	Threshold float64 // the speech probability from which a chunk starts speech
	PaddingMS int     // how much sound before the detected speech is included
	SilenceMS int     // how long a silence must be to end an utterance
}

// DefaultEar returns OpenAI's defaults.
func DefaultEar() EarOptions { return EarOptions{Threshold: 0.5, PaddingMS: 300, SilenceMS: 500} }

// Check reports the first invalid field of o.
func (o EarOptions) Check() error {
	switch {
	case !(o.Threshold > 0 && o.Threshold < 1):
		return fmt.Errorf("threshold: got %v, want more than 0 and less than 1", o.Threshold)
	case o.PaddingMS < 0 || o.PaddingMS > 5000:
		return fmt.Errorf("prefix_padding_ms: got %d, want 0 to 5000", o.PaddingMS)
	case o.SilenceMS < 32 || o.SilenceMS > 30000:
		return fmt.Errorf("silence_duration_ms: got %d, want 32 to 30000", o.SilenceMS)
	}
	return nil
}

// A Kind is the type of an event.
type Kind int

// The kinds of events.
const (
	Started Kind = iota // speech begins
	Speech              // sound of the utterance
	Stopped             // speech has ended
)

// Heard is an event of an Ear and its position.
type Heard struct {
	Kind Kind
	At   int64     // first sample of the event; for Stopped, the end
	PCM  []float32 // for Speech
}

// leastSpeech is how many consecutive chunks of speech start an utterance: 96 ms.
// Clicks are shorter.
const leastSpeech = 3

// An Ear detects utterances in arriving sound. It is not safe for concurrent use.
type Ear struct {
	o        EarOptions
	network  *vad.Network
	rest     []float32 // incomplete chunk
	before   []float32 // sound that may belong to the next utterance
	at       int64     // end of the chunks processed so far
	speaking bool
	loud     int   // consecutive chunks of speech
	silent   int64 // samples since the last chunk of speech
}

// NewEar returns an Ear at the start of its sound.
func NewEar(o EarOptions) (*Ear, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return &Ear{o: o, network: vad.NewNetwork()}, nil
}

// Hear processes samples and returns their events in order.
func (e *Ear) Hear(pcm []float32) (list []Heard) {
	e.rest = append(e.rest, pcm...)
	for len(e.rest) >= vad.StepSize {
		list = e.chunk(list, slices.Clone(e.rest[:vad.StepSize]))
		e.rest = e.rest[:copy(e.rest, e.rest[vad.StepSize:])]
	}
	return list
}

// End ends the current utterance, if any, as if silence followed.
func (e *Ear) End() (list []Heard) {
	if e.speaking {
		if len(e.rest) > 0 {
			list = append(list, Heard{Speech, e.at, slices.Clone(e.rest)})
		}
		list = append(list, Heard{Kind: Stopped, At: e.at + int64(len(e.rest))})
	}
	e.at += int64(len(e.rest))
	e.rest, e.before = e.rest[:0], nil
	e.speaking, e.loud, e.silent = false, 0, 0
	return list
}

// chunk processes one chunk.
func (e *Ear) chunk(list []Heard, pcm []float32) []Heard {
	p := float64(e.network.Next(pcm))
	from := e.at
	e.at += int64(len(pcm))
	if !e.speaking {
		return e.wait(list, pcm, p)
	}
	list = append(list, Heard{Speech, from, pcm})
	// As in faster-whisper, the threshold that ends speech is below the one that starts
	// it.
	if p >= max(e.o.Threshold-0.15, 0.01) {
		e.silent = 0
		return list
	}
	if e.silent += int64(len(pcm)); e.silent < samples(e.o.SilenceMS) {
		return list
	}
	e.speaking, e.silent, e.loud = false, 0, 0
	return append(list, Heard{Kind: Stopped, At: e.at})
}

// wait processes a chunk outside an utterance.
func (e *Ear) wait(list []Heard, pcm []float32, p float64) []Heard {
	e.before = append(e.before, pcm...)
	if e.loud++; p < e.o.Threshold {
		e.loud = 0
	}
	keep := int(samples(e.o.PaddingMS)) + max(e.loud, 1)*vad.StepSize
	if drop := len(e.before) - keep; drop > 0 {
		e.before = e.before[:copy(e.before, e.before[drop:])]
	}
	if e.loud < leastSpeech {
		return list
	}
	from := e.at - int64(len(e.before))
	list = append(list, Heard{Kind: Started, At: from}, Heard{Speech, from, e.before})
	e.speaking, e.before, e.silent = true, nil, 0
	return list
}

func samples(ms int) int64 { return int64(ms) * audio.SampleRate / 1000 }
