package transcribe

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"unicode"

	"verity/audio"
	"verity/decoder"
	"verity/model"
	"verity/tokenizer"
	"verity/vad"
)

// A Task says whether to transcribe or to translate.
type Task string

// The tasks.
const (
	Transcribe Task = "transcribe" // the words spoken, in their own language
	Translate  Task = "translate"  // write English text
)

// Options configures a Transcriber. The zero value detects the language,
// transcribes with timestamps and falls back the way upstream does.
type Options struct {
	// Language is a code such as "en" or a name such as "English". Empty means
	// detect it in the first window and keep it; several, as in "en,de", the same
	// among these.
	Language string

	// Multilingual detects the language of every window. It cannot be combined with
	// one Language, and needs a model that knows several.
	Multilingual bool

	// Task says whether to transcribe or to translate. Empty means Transcribe.
	Task Task

	// WithoutTimestamps decodes text only. A window is then one segment.
	WithoutTimestamps bool

	// Temperatures are tried in order until a window passes the gates. Nil means
	// 0, 0.2, 0.4, 0.6, 0.8, 1.
	Temperatures []float64

	// Seed is the seed of sampling at temperatures above 0.
	Seed uint64

	// MaxCompressionRatio refuses a window whose text has more bytes than this times
	// its size after zlib: the sign of a repetition loop. 0 means 2.4; +Inf turns it
	// off.
	MaxCompressionRatio float64

	// MinLogProb refuses a window whose mean token log-probability (natural log)
	// is lower. 0 means -1; -Inf turns it off.
	MinLogProb float64

	// MaxNoSpeech skips a window whose no-speech probability is higher, unless its
	// mean log-probability is above MinLogProb. 0 means 0.6; +Inf turns it off.
	MaxNoSpeech float64

	// BeamSize searches with so many sequences at temperature 0. 0 and 1 mean greedy
	// decoding. The assistant is not used then.
	BeamSize int

	// Patience ends the search when BeamSize times as many sequences have ended. 0
	// means 1. It needs a BeamSize.
	Patience float64

	// BestOf samples so many sequences at temperatures above 0, and keeps the best. 0
	// means 1. The assistant is not used for more than one.
	BestOf int

	// LengthPenalty says how sequences of different lengths are compared; see
	// decoder.SearchOptions. Nil means by their mean log-probability.
	LengthPenalty *float64

	// InitialPrompt is text that the first window continues: names, spelling, style.
	InitialPrompt string

	// Prefix is text that the first window begins with. What is decoded continues it; it
	// is not part of the transcript.
	Prefix string

	// Hotwords is put before the previous text in the prompt of every window: names and
	// terms that are likely to occur. A first window with a Prefix does not get it.
	Hotwords string

	// CarryInitialPrompt puts InitialPrompt before every window's prompt.
	CarryInitialPrompt bool

	// ForgetPrevious decodes each window without the text before it:
	// upstream's condition_on_previous_text=False.
	ForgetPrevious bool

	// SuppressTokens are never chosen. Nil means the checkpoint's own list, else
	// openai's. -1 stands for the punctuation and symbols that are not spoken. Empty
	// but not nil allows every token, special tokens included.
	SuppressTokens []tokenizer.Token

	// SuppressExpression forbids every text token that it matches from end to end, a
	// leading space included, beside SuppressTokens. Nil forbids none.
	SuppressExpression *regexp.Regexp

	// Repetition holds the rules against repetition that transformers has and openai
	// has not.
	Repetition decoder.Repetition

	// TopK and TopP restrict the choice at temperatures above 0 to the likeliest
	// tokens; see decoder.Sampling. 0 turns either off.
	TopK int
	TopP float64

	// MaxInitialTimestamp is the latest start of a window's first segment, in
	// seconds. 0 means 1; +Inf turns it off.
	MaxInitialTimestamp float64

	// WordTimestamps finds the time and the probability of every word, from the
	// cross-attention of a second pass over the final tokens. Segments then begin and
	// end with their words, and so do windows.
	WordTimestamps bool

	// PrependPunctuations are joined to the word after them, AppendPunctuations to the
	// word before them, with WordTimestamps. Empty means upstream's.
	PrependPunctuations, AppendPunctuations string

	// HallucinationSilence skips silences of more seconds than this around likely
	// hallucinations; it needs WordTimestamps. 0 turns it off.
	HallucinationSilence float64

	// Spans are the parts of the audio to transcribe, each behind the one before. Nil
	// means all of it.
	Spans []Span

	// ConfirmSpeech asks the speech detector about every window that the model itself
	// holds for silence with a probability above 0.2. Where it hears none either, what the
	// model wrote was not said, and is left out. With Chunked, windows are not asked about.
	ConfirmSpeech bool

	// VAD skips audio without speech, which a small network of its own detects. Nil
	// transcribes everything. It cannot be combined with Spans.
	VAD *vad.Options

	// Chunked cuts a clip into lanes at quiet places, decodes several at the same time,
	// and joins their text. Within a lane every window begins where the text of the one
	// before ends, with that text before it, as without lanes. Nil means one lane.
	Chunked *ChunkOptions

	// AudioContext is how many positions of 20 ms a window of the encoder has. 0 means
	// the model's: 1500, so 30 s, in published models. Fewer cost less for short clips
	// but change the numbers, since models were trained with whole windows.
	// FitAudioContext means as many as a clip needs, and 128 more.
	AudioContext int

	// Pad says what fills a window behind the end of the audio. A window cut short by
	// the end of a span holds zeros in the mel with PadMel, and the mel of silence with
	// PadAudio.
	Pad audio.Pad

	// MarkAccepted fills Marks of every segment. Without it, the assistant shows in
	// the Stats of a transcript alone.
	MarkAccepted bool

	// Log gets every decision at level debug, and warnings for the user. Nil discards
	// them.
	Log *slog.Logger
}

// FitAudioContext is the AudioContext that fits each clip.
const FitAudioContext = -1

// A Span is a part of a clip in seconds. An End of +Inf is the end of the clip.
type Span struct{ Start, End float64 }

// ChunkOptions configures lanes. The zero value means 16 or 8 at a time (see Windows).
type ChunkOptions struct {
	// Length is the minimum length of a lane in seconds, at least two windows of the
	// model. 0 means 90. The last window of a lane covers half a window that the next lane
	// covers too, which costs the less the longer lanes are; but then a file has fewer of
	// them to decode together.
	Length float64

	// Windows is how many lanes are decoded at the same time. They share every pass over
	// the weights; the text does not depend on it. 0 means 16 where the keys and values of
	// so many windows are at most 512 million numbers, as with base and small; else 8.
	Windows int
}

// MaxChunkWindows is the most windows of a clip that are decoded at the same time.
const MaxChunkWindows = 256

// windowsFor is how many windows of a model are decoded at the same time by default.
func windowsFor(d model.Dims) int {
	const many, most = 16, 1 << 29
	if keysAndValues := 2 * d.TextLayers * d.AudioPositions * d.TextWidth; many*keysAndValues > most {
		return many / 2
	}
	return many
}

// check reports a length too short for windows of the model's length.
func (o ChunkOptions) check(window float64) error {
	if o.Length != 0 && !(o.Length >= 2*window) {
		return &OptionError{"Chunked.Length", o.Length, fmt.Sprintf("must be at least %v s, two of the model's windows", 2*window)}
	}
	return nil
}

// Defaults returns what the zero value of Options means, field by field.
func Defaults() Options { return Options{}.defaults() }

// defaults returns o with zero fields replaced. Source: openai/whisper@c0d2f62
// whisper/transcribe.py, the parameters of transcribe.
func (o Options) defaults() Options {
	if o.Task == "" {
		o.Task = Transcribe
	}
	if o.Temperatures == nil {
		o.Temperatures = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	}
	if o.MaxCompressionRatio == 0 {
		o.MaxCompressionRatio = 2.4
	}
	if o.MinLogProb == 0 {
		o.MinLogProb = -1
	}
	if o.MaxNoSpeech == 0 {
		o.MaxNoSpeech = 0.6
	}
	if o.MaxInitialTimestamp == 0 {
		o.MaxInitialTimestamp = 1
	}
	o.PrependPunctuations = cmp.Or(o.PrependPunctuations, defaultPrepend)
	o.AppendPunctuations = cmp.Or(o.AppendPunctuations, defaultAppend)
	if o.Spans == nil {
		o.Spans = []Span{{0, math.Inf(1)}}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// check reports the first unusable field of o, after defaults, apart from what
// depends on the model. NaN is refused everywhere: a gate compared with NaN would
// never fire.
func (o Options) check() error {
	if err := cmp.Or(o.limits(), o.lists()); err != nil {
		return err
	}
	if o.VAD != nil {
		if err := o.VAD.Check(); err != nil {
			return &OptionError{"VAD", true, err.Error()}
		}
		if len(o.Spans) != 1 || o.Spans[0] != (Span{0, math.Inf(1)}) {
			return &OptionError{"VAD", true, "cannot be combined with spans of the clip"}
		}
	}
	switch {
	case o.Task != Transcribe && o.Task != Translate:
		return &OptionError{"Task", o.Task, "must be transcribe or translate"}
	case o.Patience > 0 && o.BeamSize < 2:
		return &OptionError{"Patience", o.Patience, "needs a beam size above 1"}
	case o.HallucinationSilence > 0 && !o.WordTimestamps:
		return &OptionError{"HallucinationSilence", o.HallucinationSilence, "needs word timestamps"}
	case o.CarryInitialPrompt && o.InitialPrompt == "":
		return &OptionError{"CarryInitialPrompt", true, "there is no initial prompt to carry"}
	case o.Multilingual && o.Language != "" && !strings.Contains(o.Language, ","):
		return &OptionError{"Multilingual", true, "cannot be combined with one language; name several, as en,de, or none"}
	case o.Pad != audio.PadAudio && o.Pad != audio.PadMel:
		return &OptionError{"Pad", o.Pad, "must be audio or mel"}
	}
	return nil
}

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
