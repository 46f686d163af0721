package vad

import "fmt"

// Defaults of Options, those of faster-whisper.
const (
	DefaultThreshold            = 0.5
	DefaultMinSilenceDurationMS = 2000
	DefaultSpeechPadMS          = 400
)

// Options define what counts as speech. The names are faster-whisper's, and zero fields mean its defaults.
type Options struct {
	// Threshold is the least probability that begins speech. 0 means DefaultThreshold.
	Threshold float64

	// MinSpeechDurationMS drops speech that is not longer, in ms.
	MinSpeechDurationMS int

	// MinSilenceDurationMS is the shortest silence that ends speech, in ms. 0 means
	// DefaultMinSilenceDurationMS; negative means any.
	MinSilenceDurationMS int

	// SpeechPadMS is added on either side of speech, in ms. 0 means DefaultSpeechPadMS; negative means none.
	SpeechPadMS int
}

func (o Options) defaults() Options {
	if o.Threshold == 0 {
		o.Threshold = DefaultThreshold
	}
	if o.MinSilenceDurationMS == 0 {
		o.MinSilenceDurationMS = DefaultMinSilenceDurationMS
	}
	if o.SpeechPadMS == 0 {
		o.SpeechPadMS = DefaultSpeechPadMS
	}
	o.MinSilenceDurationMS, o.SpeechPadMS = max(o.MinSilenceDurationMS, 0), max(o.SpeechPadMS, 0)
	return o
}

// Quiet returns the probability below which speech may end, given the one that begins it.
func Quiet(threshold float64) float64 { return max(threshold-0.15, 0.01) }

// Check returns an error for a threshold that is not a probability.
func (o Options) Check() error {
	if o = o.defaults(); !(o.Threshold > 0 && o.Threshold <= 1) {
		return fmt.Errorf("vad: option Threshold: got %v, want more than 0, at most 1", o.Threshold)
	}
	return nil
}
