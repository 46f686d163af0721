package vad

import (
	"fmt"
	"math"
)

// Options say what counts as speech. The names are faster-whisper's; zero fields mean its
// defaults.
type Options struct {
	// Threshold is the probability from which on a chunk begins speech. 0 means 0.5.
	Threshold float64

	// NegThreshold is the probability below which a chunk may end speech. 0 means
	// Threshold - 0.15, at least 0.01.
	NegThreshold float64

	// MinSpeechDurationMS drops speech that is not longer than that many ms.
	MinSpeechDurationMS int

	// MinSilenceDurationMS is how long a silence must be to end speech. 0 means 2000;
	// negative means any.
	MinSilenceDurationMS int

	// MaxSpeechDurationS splits speech that is longer than that many seconds, at its last
	// silence if there was one. 0 means never.
	MaxSpeechDurationS float64

	// SpeechPadMS is added to speech on either side. 0 means 400; negative means none.
	SpeechPadMS int
}

func (o Options) defaults() Options {
	if o.Threshold == 0 {
		o.Threshold = 0.5
	}
	if o.NegThreshold == 0 {
		o.NegThreshold = max(o.Threshold-0.15, 0.01)
	}
	if o.MinSilenceDurationMS == 0 {
		o.MinSilenceDurationMS = 2000
	}
	if o.MaxSpeechDurationS == 0 {
		o.MaxSpeechDurationS = math.Inf(1)
	}
	if o.SpeechPadMS == 0 {
		o.SpeechPadMS = 400
	}
	o.MinSilenceDurationMS, o.SpeechPadMS = max(o.MinSilenceDurationMS, 0), max(o.SpeechPadMS, 0)
	return o
}

// Check returns an error for the first invalid field.
func (o Options) Check() error {
	o = o.defaults()
	switch {
	case !(o.Threshold > 0 && o.Threshold <= 1):
		return fmt.Errorf("vad: option Threshold: got %v, want more than 0, at most 1", o.Threshold)
	case !(o.NegThreshold > 0 && o.NegThreshold <= o.Threshold):
		return fmt.Errorf("vad: option NegThreshold: got %v, want more than 0, at most the threshold of %v",
			o.NegThreshold, o.Threshold)
	case o.MinSpeechDurationMS < 0:
		return fmt.Errorf("vad: option MinSpeechDurationMS: got %d, want 0 or more", o.MinSpeechDurationMS)
	case !(o.MaxSpeechDurationS > 0):
		return fmt.Errorf("vad: option MaxSpeechDurationS: got %v, want more than 0", o.MaxSpeechDurationS)
	}
	return nil
}
