package cli

import (
	"math"

	"github.com/spf13/pflag"

	"verity/vad"
)

// vadFlags say whether silence is skipped, and what counts as speech. The names and
// defaults are faster-whisper's.
type vadFlags struct {
	on                   bool
	threshold            float64
	negative             float64
	speech, silence, pad int // ms
	longest              number
}

// newVADFlags returns the defaults, which commands that do not register the flags have.
func newVADFlags() vadFlags {
	return vadFlags{threshold: 0.5, silence: 2000, pad: 400, longest: number{off: true}}
}

func (v *vadFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&v.on, "vad", false, "find speech first (Silero VAD) and skip everything else; times stay those of the file")
	f.Float64Var(&v.threshold, "vad-threshold", v.threshold, "`probability` from which on 32 ms begin speech")
	f.Float64Var(&v.negative, "vad-neg-threshold", 0,
		"`probability` below which speech may end; 0 for the threshold less 0.15")
	f.IntVar(&v.speech, "vad-min-speech-duration-ms", 0, "drop speech that is not longer than so many `ms`")
	f.IntVar(&v.silence, "vad-min-silence-duration-ms", v.silence, "`ms` of silence that end speech")
	f.Var(&v.longest, "vad-max-speech-duration-s", "split speech that is longer than so many seconds, or none")
	f.IntVar(&v.pad, "vad-speech-pad-ms", v.pad, "`ms` added to speech on either side")
}

// options returns nil if silence is not skipped.
func (v *vadFlags) options() (*vad.Options, error) {
	for name, n := range map[string]int{"vad-min-speech-duration-ms": v.speech, "vad-min-silence-duration-ms": v.silence, "vad-speech-pad-ms": v.pad} {
		if n < 0 {
			return nil, usagef("--%s %d: must be 0 or more", name, n)
		}
	}
	if !(v.threshold > 0 && v.threshold <= 1) {
		return nil, usagef("--vad-threshold %v: want more than 0, at most 1", v.threshold)
	}
	if !(v.negative >= 0 && v.negative <= v.threshold) {
		return nil, usagef("--vad-neg-threshold %v: want 0 to the threshold of %v", v.negative, v.threshold)
	}
	longest := v.longest.or(math.Inf(1))
	if !(longest > 0) {
		return nil, usagef("--vad-max-speech-duration-s %v: must be more than 0", longest)
	}
	if !v.on {
		return nil, nil
	}
	o := vad.Options{
		Threshold: v.threshold, NegThreshold: v.negative, MinSpeechDurationMS: v.speech,
		MinSilenceDurationMS: v.silence, MaxSpeechDurationS: longest, SpeechPadMS: v.pad,
	}
	if v.silence == 0 {
		o.MinSilenceDurationMS = -1 // 0 means the default there
	}
	if v.pad == 0 {
		o.SpeechPadMS = -1
	}
	return &o, nil
}
