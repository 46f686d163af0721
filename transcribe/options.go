package transcribe

import (
	"fmt"
	"log/slog"
	"math"

	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
)

// A Task is what to write down.
type Task string

// The tasks.
const (
	Transcribe Task = "transcribe" // what is said, in its own language
	Translate  Task = "translate"  // the same in English
)

// Options configures a Transcriber. The zero value detects the language,
// transcribes with timestamps and falls back the way upstream does.
type Options struct {
	// Language is a code such as "en" or a name such as "English". Empty means
	// detect it from the first window and keep it.
	Language string

	// Task is what to write down. Empty means Transcribe.
	Task Task

	// WithoutTimestamps asks for text alone. A window is then one segment.
	WithoutTimestamps bool

	// Temperatures are tried in order until a window passes the gates. Nil means
	// 0, 0.2, 0.4, 0.6, 0.8, 1.
	Temperatures []float64

	// Seed is where the noise of temperatures above 0 comes from.
	Seed uint64

	// MaxCompression refuses a window whose text zlib shrinks by more than this
	// factor, the mark of a repetition loop. 0 means 2.4; +Inf turns it off.
	MaxCompression float64

	// MinLogProb refuses a window whose mean token log-probability (natural log)
	// is lower. 0 means -1; -Inf turns it off.
	MinLogProb float64

	// MaxNoSpeech passes over a window whose probability of holding no speech is
	// higher, unless its mean log-probability is above MinLogProb. 0 means 0.6;
	// +Inf turns it off.
	MaxNoSpeech float64

	// InitialPrompt is text that the first window is to continue: names, spelling.
	InitialPrompt string

	// CarryInitialPrompt puts InitialPrompt before every window's prompt.
	CarryInitialPrompt bool

	// ForgetPrevious decodes each window without the text before it:
	// upstream's condition_on_previous_text=False.
	ForgetPrevious bool

	// SuppressTokens are never chosen. Nil means the checkpoint's own list, else
	// openai's. -1 stands for the marks that are not speech. Empty but not nil
	// allows everything, special tokens included.
	SuppressTokens []tokenizer.Token

	// Repetition holds the rules against going round in circles that transformers
	// has and openai does not.
	Repetition decoder.Repetition

	// TopK and TopP leave the choice at temperatures above 0 among the likeliest
	// tokens; see decoder.Sampling. 0 turns either off.
	TopK int
	TopP float64

	// MaxInitialTimestamp is the latest a window's first segment may begin, in
	// seconds. 0 means 1; +Inf turns it off.
	MaxInitialTimestamp float64

	// Clips are the parts of the audio to read, in the order given. Nil means
	// all of it.
	Clips []Span

	// Pad says what a window that reaches beyond the end of the audio holds
	// there. A window cut short by the end of a span holds zeros in the mel
	// with PadMel, and the mel of silence with PadAudio.
	Pad audio.Pad

	// MarkDrafts fills Drafted of every segment. Without it a transcript is the
	// same, but for Stats, whatever the assistant.
	MarkDrafts bool

	// Log is told of every decision at level debug, and at level warn of what a
	// user should know. Nil means nobody.
	Log *slog.Logger
}

// A Span is a part of a clip in seconds. An End of +Inf is the end of the clip.
type Span struct{ Start, End float64 }

// defaults returns o with zero fields replaced. Source: openai/whisper@c0d2f62
// whisper/transcribe.py, the parameters of transcribe.
func (o Options) defaults() Options {
	if o.Task == "" {
		o.Task = Transcribe
	}
	if o.Temperatures == nil {
		o.Temperatures = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	}
	if o.MaxCompression == 0 {
		o.MaxCompression = 2.4
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
	if o.Clips == nil {
		o.Clips = []Span{{0, math.Inf(1)}}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// An OptionError reports an Options field with a value that cannot be used.
type OptionError struct {
	Field  string
	Value  any
	Reason string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("transcribe: option %s = %v: %s", e.Field, e.Value, e.Reason)
}

// check reports the first unusable field of o, after defaults, apart from what
// depends on the model. NaN is refused everywhere: a gate compared with NaN would
// never fire.
func (o Options) check() error {
	if len(o.Temperatures) == 0 {
		return &OptionError{"Temperatures", o.Temperatures, "must not be empty"}
	}
	for _, t := range o.Temperatures {
		if !(t >= 0 && t <= math.MaxFloat32) {
			return &OptionError{"Temperatures", o.Temperatures, "must be 0 or more"}
		}
	}
	for _, s := range o.Clips {
		if !(s.Start >= 0 && s.End >= s.Start) {
			return &OptionError{"Clips", s, "must start at 0 or later and not end before it starts"}
		}
	}
	switch {
	case o.Task != Transcribe && o.Task != Translate:
		return &OptionError{"Task", o.Task, "must be transcribe or translate"}
	case !(o.MaxCompression > 0):
		return &OptionError{"MaxCompression", o.MaxCompression, "must be positive"}
	case math.IsNaN(o.MinLogProb) || o.MinLogProb > 0:
		return &OptionError{"MinLogProb", o.MinLogProb, "must not be positive"}
	case !(o.MaxNoSpeech > 0):
		return &OptionError{"MaxNoSpeech", o.MaxNoSpeech, "must be positive"}
	case !(o.MaxInitialTimestamp > 0):
		return &OptionError{"MaxInitialTimestamp", o.MaxInitialTimestamp, "must be positive"}
	case !(o.Repetition.Penalty >= 0 && o.Repetition.Penalty <= math.MaxFloat32):
		return &OptionError{"Repetition.Penalty", o.Repetition.Penalty, "must not be negative"}
	case o.Repetition.NoRepeat < 0:
		return &OptionError{"Repetition.NoRepeat", o.Repetition.NoRepeat, "must not be negative"}
	case o.Repetition.MinTokens < 0:
		return &OptionError{"Repetition.MinTokens", o.Repetition.MinTokens, "must not be negative"}
	case o.TopK < 0:
		return &OptionError{"TopK", o.TopK, "must not be negative"}
	case !(o.TopP >= 0 && o.TopP <= 1):
		return &OptionError{"TopP", o.TopP, "must be from 0 to 1"}
	case o.CarryInitialPrompt && o.InitialPrompt == "":
		return &OptionError{"CarryInitialPrompt", true, "there is no initial prompt to carry"}
	case o.Pad != audio.PadAudio && o.Pad != audio.PadMel:
		return &OptionError{"Pad", o.Pad, "must be PadAudio or PadMel"}
	}
	return nil
}
