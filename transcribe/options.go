package transcribe

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"

	"verity/audio"
	"verity/audio/vad"
	"verity/decoder"
	"verity/diarize"
	"verity/internal/option"
	"verity/tokenizer"
)

// A Task says whether to transcribe or to translate.
type Task string

// The tasks.
const (
	Transcribe Task = "transcribe" // the words spoken, in their own language
	Translate  Task = "translate"  // write English text
)

// A Strategy says who decides where a window is in doubt.
type Strategy string

// The strategies.
const (
	Accurate Strategy = "accurate" // fewer words lost and invented than upstream; docs/ACCURACY.md lists how
	Upstream Strategy = "upstream" // the decisions of openai-whisper
)

// Options configures a Transcriber. The zero value detects the language, transcribes with
// timestamps, falls back as upstream does, and writes nothing where there is no speech. The
// command line and the server use it by default.
//
// The comments name the options of openai/whisper, faster-whisper and whisper.cpp that mean the same under another name.
type Options struct {
	// Language is a code such as "en" or a name such as "English". If it is empty, the
	// language is detected in the first window. A list such as "en,de" restricts detection.
	Language string

	// Multilingual detects the language of every window. It cannot be combined with
	// one Language, and needs a model that knows several.
	Multilingual bool

	// Task says whether to transcribe or to translate. Empty means Transcribe.
	Task Task

	// Strategy says how hard sound is decoded. Empty means Accurate. With Upstream, every decision is
	// openai-whisper's, and so is the text if Pad is audio.PadMel; there is no speech check then.
	Strategy Strategy

	// WithoutTimestamps decodes text only. A window is then one segment.
	WithoutTimestamps bool

	// Temperatures are tried in order until a window passes the gates: temperature. Nil means 0, 0.2, 0.4, 0.6, 0.8, 1.
	Temperatures []float64

	// Seed is the seed of sampling at temperatures above 0.
	Seed uint64

	// MaxCompressionRatio refuses a window if zlib compresses its text to less than 1/ratio:
	// the sign of a repetition loop: compression_ratio_threshold. 0 means 2.4; +Inf turns it off.
	MaxCompressionRatio float64

	// MinLogProb refuses a window whose mean token log-probability (natural log)
	// is lower: logprob_threshold, log_prob_threshold in faster-whisper. 0 means -1; -Inf turns it off.
	MinLogProb float64

	// MaxNoSpeech skips a window whose no-speech probability is higher, unless its
	// mean log-probability is above MinLogProb: no_speech_threshold. 0 means 0.6; +Inf turns it off.
	MaxNoSpeech float64

	// BeamSize is the number of sequences of the search at temperature 0. 0 and 1 mean greedy
	// decoding. A search of several sequences does not use the assistant.
	BeamSize int

	// Patience ends the search when Patience × BeamSize sequences have ended. 0 means 1.
	Patience float64

	// BestOf is the number of sequences sampled at temperatures above 0; the best wins. 0
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

	// Hotwords precede the previous text in the prompt of every window: names and terms that
	// are likely to occur. A first window with a Prefix goes without.
	Hotwords string

	// Terms are names and terms that are likely to occur: their tokens become likelier, and what the model
	// writes in their place is replaced. Hotwords are text that the model reads; terms need no room in the
	// prompt, and the model knows nothing of them.
	Terms []Term

	// CarryInitialPrompt puts InitialPrompt before every window's prompt.
	CarryInitialPrompt bool

	// ForgetPrevious decodes each window without the text before it:
	// upstream's condition_on_previous_text=False.
	ForgetPrevious bool

	// SuppressTokens are never chosen. Nil means the checkpoint's own list, else
	// openai's. -1 stands for the punctuation and symbols that are not spoken. Empty
	// but not nil allows every token, special tokens included.
	SuppressTokens []tokenizer.Token

	// SuppressExpression forbids every text token that it matches as a whole, including a
	// leading space: suppress_regex of whisper.cpp. Nil forbids none.
	SuppressExpression *regexp.Regexp

	// Repetition holds rules against repetition: repetition_penalty and no_repeat_ngram_size of transformers and
	// faster-whisper.
	Repetition decoder.Repetition

	// TopK and TopP restrict the choice at temperatures above 0 to the likeliest
	// tokens; see decoder.Sampling. 0 turns either off.
	TopK int
	TopP float32

	// MaxInitialTimestamp is the latest start of a window's first segment, in
	// seconds. 0 means 1; +Inf turns it off.
	MaxInitialTimestamp float64

	// WordTimestamps finds the time and the probability of every word, from the cross-attention of a second
	// pass over the final tokens. Segments then begin and end with their words, and so do windows.
	WordTimestamps bool

	// PrependPunctuations are joined to the word after them, AppendPunctuations to the
	// word before them, with WordTimestamps. Empty means upstream's.
	PrependPunctuations, AppendPunctuations string

	// HallucinationSilence skips silences of more seconds than this around likely
	// hallucinations: hallucination_silence_threshold. It turns WordTimestamps on. 0 turns it off.
	HallucinationSilence float64

	// Spans are the parts of the audio to transcribe, in order and without overlap: clip_timestamps. Nil means all of it.
	Spans []Span

	// SkipSpeechCheck keeps text that the model invents in noise, as upstream does. Without
	// it, a speech detector examines every window whose no-speech probability is 0.2 or more
	// and drops the text of those without speech.
	SkipSpeechCheck bool

	// VAD skips audio without speech, which a small network of its own detects: vad_filter of faster-whisper. Nil
	// transcribes everything. It cannot be combined with Spans.
	VAD *vad.Options

	// Chunked cuts a clip into chunks at quiet places, decodes several at the same time, and
	// joins their text. Chunks share every pass over the weights. Within a chunk, windows follow
	// each other as they do without chunks.
	Chunked bool

	// AudioContext is how many positions of 20 ms the encoder reads of a window. 0 means as many as its sound needs,
	// and 128 more (see short.go); [WholeWindows] the model's: 1500, so 30 s, in published models. A number is that
	// many for every window, which changes the words more: audio_ctx of whisper.cpp.
	AudioContext int

	// Pad says what fills a window after the end of the audio. If a span ends within a window, PadMel fills
	// the rest of its mel with zeros, and PadAudio with the mel of silence.
	Pad audio.Pad

	// Speakers tells speakers apart by their voices: words and segments have the names of their speakers, and
	// segments end where the speaker changes. It finds the times of words, and needs the whole clip before it
	// begins; Pool is set. Nil does not.
	Speakers *diarize.Options

	// TokenOrigins fills Segment.Origins: which tokens the assistant drafted. Without it,
	// only the Stats of a transcript show the assistant.
	TokenOrigins bool

	// Log gets every decision at level debug, and warnings for the user. Nil discards them.
	Log *slog.Logger

	// The least length of a chunk in seconds, and how many chunks are decoded at the same time.
	// Only tests set them. The text does not depend on chunks.
	chunkSeconds float64
	chunks       int
}

// WholeWindows is the AudioContext that encodes silence up to the model's 30 s in every window, as upstream does.
const WholeWindows = -1

// A Span is a part of a clip in seconds. An End of +Inf is the end of the clip.
type Span struct{ Start, End float64 }

// WithDefaults returns o with the meaning of its zero fields written out. Source: openai/whisper@c0d2f62
// whisper/transcribe.py, the parameters of transcribe.
func (o Options) WithDefaults() Options {
	if o.Task == "" {
		o.Task = Transcribe
	}
	o.Strategy = cmp.Or(o.Strategy, Accurate)
	o.SkipSpeechCheck = o.SkipSpeechCheck || o.Strategy == Upstream
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
	o.chunkSeconds = cmp.Or(o.chunkSeconds, chunkSeconds)
	o.WordTimestamps = o.WordTimestamps || o.Speakers != nil || o.HallucinationSilence > 0
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// check reports the unusable fields of o, after defaults, apart from what depends on the model. NaN is
// refused everywhere: a gate compared with NaN would never fire.
func (o Options) check() error {
	var all []error
	wrong := func(is bool, field string, value any, reason string) {
		if is {
			all = append(all, option.New(field, value, reason))
		}
	}
	for _, l := range o.limits() {
		wrong(!(l.got >= l.least && l.got <= l.most), l.field, l.got, fmt.Sprintf("must be from %v to %v", l.least, l.most))
	}
	all = append(all, o.checkLists())
	if o.VAD != nil {
		if err := o.VAD.Check(); err != nil {
			wrong(true, "VAD", true, err.Error())
		}
		wrong(len(o.Spans) != 1 || o.Spans[0] != (Span{0, math.Inf(1)}), "VAD", nil, "voice detection cannot be combined with parts of the sound")
	}
	if o.Speakers != nil {
		if err, ok := errors.AsType[*OptionError](o.Speakers.Check()); ok {
			wrong(true, "Speakers."+err.Option, err.Value, err.Reason)
		}
	}
	wrong(o.Task != Transcribe && o.Task != Translate, "Task", o.Task, "must be transcribe or translate")
	wrong(o.Strategy != Accurate && o.Strategy != Upstream, "Strategy", o.Strategy, "must be accurate or upstream")
	wrong(o.Multilingual && o.Language != "" && !strings.Contains(o.Language, ","), "Multilingual", true,
		"cannot be combined with one language, "+o.Language+"; name several, such as en,de, or leave the language out")
	wrong(o.Pad != audio.PadAudio && o.Pad != audio.PadMel, "Pad", o.Pad, "must be audio or mel")
	return option.Join(all...)
}

// A limit is the allowed range of a numeric option, bounds included. An option set to an infinite
// bound is off.
type limit struct {
	field            string
	got, least, most float64
}

// limits returns the limits of all numbers in o, except for lists and for AudioContext, whose limit
// depends on the model.
func (o *Options) limits() []limit {
	const (
		most       = 1000 // beyond any use
		mostTokens = 448  // in a window with its prompt, in published models
	)
	inf, penalty := math.Inf(1), 0.0
	if o.LengthPenalty != nil {
		penalty = *o.LengthPenalty
	}
	return []limit{
		{"MaxCompressionRatio", o.MaxCompressionRatio, 0, inf},
		{"MinLogProb", o.MinLogProb, -inf, 0},
		{"MaxNoSpeech", o.MaxNoSpeech, 0, inf},
		{"MaxInitialTimestamp", o.MaxInitialTimestamp, 0, inf},
		{"HallucinationSilence", o.HallucinationSilence, 0, inf},
		{"BeamSize", float64(o.BeamSize), 0, decoder.MaxSequences},
		{"BestOf", float64(o.BestOf), 0, decoder.MaxSequences},
		{"Patience", o.Patience, 0, decoder.MaxSequences},
		{"LengthPenalty", penalty, 0, 1},
		{"Repetition.Penalty", float64(o.Repetition.Penalty), 0, most},
		{"Repetition.NoRepeat", float64(o.Repetition.NoRepeat), 0, mostTokens},
		{"Repetition.MinTokens", float64(o.Repetition.MinTokens), 0, float64(cmp.Or(max(0, o.Repetition.MaxTokens), mostTokens))},
		{"Repetition.MaxTokens", float64(o.Repetition.MaxTokens), 0, mostTokens},
		{"TopK", float64(o.TopK), 0, 1 << 20},
		{"TopP", float64(o.TopP), 0, 1},
	}
}

// checkLists reports the first unusable list of o.
func (o *Options) checkLists() error {
	if len(o.Temperatures) == 0 {
		return option.New("Temperatures", o.Temperatures, "names none; leave it nil for the usual ones")
	}
	for _, t := range o.Temperatures {
		if !(t >= 0 && t <= 2) { // beyond, text is noise
			return option.New("Temperatures", t, "must be from 0 to 2")
		}
	}
	last := 0.0
	if err := checkTerms(o.Terms); err != nil {
		return err
	}
	for _, s := range o.Spans {
		if !(s.Start >= last && s.End >= s.Start) {
			return option.New("Spans", s, fmt.Sprintf(
				"must start at %v s or later, where the span before it ends, and end no sooner", last))
		}
		last = s.End
	}
	return nil
}

// An OptionError reports a field of Options with an unusable value. Packages diarize and live return it too.
type OptionError = option.Error

// Temperatures returns the temperatures from first to 1 in steps, at most 100 after the first; only first if step is 0.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, cli.
func Temperatures(first, step float64) []float64 {
	list := []float64{first}
	for i := 1; i <= 100 && step > 0; i++ {
		t := math.Round((first+float64(i)*step)*1e9) / 1e9 // 0.6, not 0.6000000000000001
		if t > 1+1e-6 {
			break
		}
		list = append(list, t)
	}
	return list
}

// Beyond reports whether there are spans, and all begin after the end of a clip of some seconds. None do if it is empty.
func Beyond(spans []Span, seconds float64) bool {
	within := func(s Span) bool { return s.Start < seconds }
	return len(spans) > 0 && seconds > 0 && !slices.ContainsFunc(spans, within)
}
