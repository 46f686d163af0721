package transcribe

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"verity/decoder"
)

// A Limit is the range of a number among Options, bounds included. It follows from memory
// or from what a model has: package internal/options holds its own table against it.
type Limit struct {
	Field    string
	Min, Max float64
	Off      float64 // the infinity that turns it off; 0 if none does

	of func(o *Options) float64
}

// Ceilings of published models: large-v3 has the most tokens.
const (
	mostTokens = 448 // of a window with its prompt
	mostVocab  = 51866
	mostWindow = 30  // seconds
	mostSound  = 1e6 // seconds: eleven days
	mostFactor = 1000
)

var up, down = math.Inf(1), math.Inf(-1)

// Limits are those of all numbers among Options, but for lists, and for AudioContext,
// which a model bounds.
var Limits = []Limit{
	{"MaxCompressionRatio", 0, mostFactor, up, func(o *Options) float64 { return o.MaxCompressionRatio }},
	{"MinLogProb", -mostFactor, 0, down, func(o *Options) float64 { return o.MinLogProb }},
	{"MaxNoSpeech", 0, 1, up, func(o *Options) float64 { return o.MaxNoSpeech }},
	{"MaxInitialTimestamp", 0, mostWindow, up, func(o *Options) float64 { return o.MaxInitialTimestamp }},
	{"HallucinationSilence", 0, mostSound, 0, func(o *Options) float64 { return o.HallucinationSilence }},
	{"BeamSize", 0, decoder.MaxSequences, 0, func(o *Options) float64 { return float64(o.BeamSize) }},
	{"BestOf", 0, decoder.MaxSequences, 0, func(o *Options) float64 { return float64(o.BestOf) }},
	{"Patience", 0, decoder.MaxSequences, 0, func(o *Options) float64 { return o.Patience }},
	{"LengthPenalty", 0, 1, 0, func(o *Options) float64 {
		if o.LengthPenalty == nil {
			return 0
		}
		return *o.LengthPenalty
	}},
	{"Repetition.Penalty", 0, mostFactor, 0, func(o *Options) float64 { return float64(o.Repetition.Penalty) }},
	{"Repetition.NoRepeat", 0, mostTokens, 0, func(o *Options) float64 { return float64(o.Repetition.NoRepeat) }},
	{"Repetition.MinTokens", 0, mostTokens, 0, func(o *Options) float64 { return float64(o.Repetition.MinTokens) }},
	{"TopK", 0, mostVocab, 0, func(o *Options) float64 { return float64(o.TopK) }},
	{"TopP", 0, 1, 0, func(o *Options) float64 { return o.TopP }},
	{"Chunked.Length", 0, 300, 0, func(o *Options) float64 { // five minutes of 128 bins are 15 MB
		if o.Chunked == nil {
			return 0
		}
		return o.Chunked.Length
	}},
	{"Chunked.Windows", 0, MaxChunkWindows, 0, func(o *Options) float64 {
		if o.Chunked == nil {
			return 0
		}
		return float64(o.Chunked.Windows)
	}},
}

// limits reports the first number of o outside its range; NaN is.
func (o *Options) limits() error {
	for _, l := range Limits {
		v := l.of(o)
		if v >= l.Min && v <= l.Max || l.Off != 0 && v == l.Off {
			continue
		}
		reason := fmt.Sprintf("must be from %v to %v", l.Min, l.Max)
		if l.Off != 0 {
			reason += fmt.Sprintf(", or %v for no limit", l.Off)
		}
		return &OptionError{l.Field, v, reason}
	}
	return nil
}

// mostTemperature makes text noise; see Options.Temperatures.
const mostTemperature = 2

// maxTemperatures is the most attempts at a window.
const maxTemperatures = 200

// lists reports the first list of o that cannot be used.
func (o *Options) lists() error {
	if n := len(o.Temperatures); n == 0 || n > maxTemperatures {
		return &OptionError{"Temperatures", fmt.Sprintf("%d of them", n), fmt.Sprintf("must be 1 to %d", maxTemperatures)}
	}
	for _, t := range o.Temperatures {
		if !(t >= 0 && t <= mostTemperature) {
			return &OptionError{"Temperatures", t, fmt.Sprintf("must be from 0 to %v", mostTemperature)}
		}
	}
	last := 0.0
	for _, s := range o.Spans {
		switch {
		case !(s.Start >= 0 && s.Start <= mostSound && s.End >= s.Start && (s.End <= mostSound || s.End == up)):
			return &OptionError{"Spans", s, "must start at 0 or later, and end no sooner, at the end of the clip or within eleven days"}
		case s.Start < last:
			return &OptionError{"Spans", s, fmt.Sprintf("starts before the end of the span before it, at %v s", last)}
		}
		last = s.End
	}
	return nil
}

// An OptionError reports a field of Options with an unusable value.
type OptionError struct {
	Field  string // as in Go: "BeamSize", "Chunked.Length"
	Value  any
	Reason string
}

func (e *OptionError) Error() string {
	value := fmt.Sprint(e.Value)
	if len(value) > 60 {
		value = fmt.Sprintf("%.60q…", value)
	}
	return fmt.Sprintf("%s: got %s: %s", e.Name(), value, e.Reason)
}

// Name returns the option in words: "beam size".
func (e *OptionError) Name() string {
	var b strings.Builder
	_, field, nested := strings.Cut(e.Field, ".")
	if !nested {
		field = e.Field
	}
	letters := []rune(field)
	for i, c := range letters {
		if i > 0 && unicode.IsUpper(c) && !unicode.IsUpper(letters[i-1]) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// String returns a span in words.
func (s Span) String() string {
	if s.End == up {
		return fmt.Sprintf("%v s to the end", s.Start)
	}
	return fmt.Sprintf("%v s to %v s", s.Start, s.End)
}
