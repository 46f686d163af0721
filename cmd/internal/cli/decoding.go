package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/audio/vad"
	"verity/internal/input"
	"verity/internal/option"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
)

var spansRow = &Option{Name: "clip-timestamps", Kind: List, Arg: "times", Default: "0", Check: checks(Spans), Excludes: "vad",
	Scope: Request, Field: "Spans",
	Set: func(d *Decoding, v Value) { d.Spans, _ = Spans(v.Text) }, Hint: "60,90 means from 60 s to 90 s",
	Help: "parts to transcribe, in seconds or as 1:02:30: start,end,start,end,… The last end may be omitted"}

// The options under the heading Text.
var textRows = []*Option{
	{Name: "initial-prompt", Kind: Text, Max: maxPrompt, Scope: anywhere, Field: "InitialPrompt",
		Set:  func(d *Decoding, v Value) { d.InitialPrompt = v.Text },
		Help: "text that precedes the first window, to suggest names, spelling and style"},
	{Name: "carry-initial-prompt", Scope: anywhere, Needs: "initial-prompt", Field: "CarryInitialPrompt",
		Set:  func(d *Decoding, v Value) { d.CarryInitialPrompt = v.On },
		Help: "use the initial prompt for every window"},
	{Name: "hotwords", Hidden: true, Kind: Text, Max: maxPrompt, Scope: anywhere, Excludes: "terms", Field: "Hotwords",
		Set:  func(d *Decoding, v Value) { d.Hotwords = v.Text },
		Help: "likely names and terms, shown to the model before the previous text in every window"},
	{Name: "terms", Kind: Text, Arg: "file", Max: maxPath, Check: checks(readTerms), Scope: Configurable | Server,
		Field: "Terms", Set: func(d *Decoding, v Value) { d.Terms, _ = readTerms(v.Text) }, Common: true,
		Help: "file of names and terms that are likely to occur, one per line: they become likelier. Name:2 doubles the " +
			"weight of one; cooper netties => Kubernetes also replaces what the model writes in its place"},
	{Name: "condition-on-previous-text", Default: "true", Scope: anywhere, Field: "ForgetPrevious",
		Set:  func(d *Decoding, v Value) { d.ForgetPrevious = !v.On },
		Help: "prompt each window with the text before it"},
	{Name: "without-timestamps", Scope: Configurable, Field: "WithoutTimestamps",
		Set:  func(d *Decoding, v Value) { d.WithoutTimestamps = v.On },
		Help: "decode text without timestamps; each window becomes one segment"},
	{Name: "suppress-tokens", Kind: List, Arg: "ids", Default: "auto", Check: checks(tokenIDs), Scope: Configurable,
		Field: "SuppressTokens", Set: func(d *Decoding, v Value) { d.SuppressTokens, _ = tokenIDs(v.Text) },
		Help: "token ids that are never chosen, separated by commas; -1 means symbols that are not spoken, auto the " +
			"model's own list"},
	{Name: "suppress-expression", Kind: Text, Arg: "expression", Max: maxPath, Check: checks(expression),
		Scope: Configurable, Field: "SuppressExpression", Set: func(d *Decoding, v Value) { d.SuppressExpression, _ = expression(v.Text) },
		Help: "never choose tokens that this regular expression matches in full, leading space included. For example, " +
			"' ?[0-9]+' makes the model spell out numbers"},
	{Name: "audio-context", Kind: List, Arg: "positions", Default: "fit", Choices: []string{"fit", "all"},
		Check: checks(audioContext), Scope: Configurable, Field: "AudioContext",
		Set: func(d *Decoding, v Value) { d.AudioContext, _ = audioContext(v.Text) },
		Help: "what the encoder reads of a window: fit, its sound and 2.6 s, or all where the text is in doubt; all, 30 s " +
			"even of a short file; or positions of 20 ms, up to 1500"},
	{Name: "pad", Kind: Choice, Arg: "kind", Default: "audio", Choices: []string{"audio", "mel"}, Scope: Configurable,
		Field: "Pad", Set: func(d *Decoding, v Value) { d.Pad = map[string]audio.Pad{"mel": audio.PadMel}[v.Text] },
		Help: "padding after the end of the audio in a window: audio (silence, as in training) or mel (zeros, as in " +
			"openai-whisper; add --strategy upstream for the same text)"},
}

// The options under the heading Voice activity.
var voiceRows = []*Option{ // names and defaults of faster-whisper
	{Name: "vad", Kind: Choice, Arg: "when", Default: "auto", BareValue: "on", Choices: []string{"auto", "on", "off"},
		Scope: Configurable | Server, Field: "VAD",
		Set: func(d *Decoding, v Value) { d.vadOn, d.SkipSpeechCheck = v.Text == "on", v.Text == "off" }, Common: true,
		Help: "voice activity detection (Silero VAD). on, or the bare flag: detect speech first and skip the rest; " +
			"times remain those of the file. auto: check only windows with low model confidence, and omit text where " +
			"there is no speech. off: no check"},
	{Name: "vad-threshold", Kind: Real, Arg: "probability", Default: fmt.Sprint(vad.DefaultThreshold), Above: true, Max: 1,
		Scope: Configurable | Server, Needs: "vad",
		Set:  func(d *Decoding, v Value) { d.vad.Threshold = v.Number },
		Help: "probability at which a 32 ms frame starts speech"},
	{Name: "vad-min-silence-duration-ms", Kind: Whole, Arg: "ms", Default: strconv.Itoa(vad.DefaultMinSilenceDurationMS), Max: maxHour,
		Scope: Configurable | Server, Needs: "vad",
		Set:  func(d *Decoding, v Value) { d.vad.MinSilenceDurationMS = v.OrNone() },
		Help: "minimum silence that ends speech"},
}

// The options under the heading Search and thresholds.
var searchRows = []*Option{
	{Name: "strategy", Kind: Choice, Arg: "name", Default: "accurate", Choices: []string{"accurate", "upstream"},
		Scope: anywhere, Field: "Strategy",
		Set: func(d *Decoding, v Value) { d.Strategy = transcribe.Strategy(v.Text) },
		Help: "how to decode difficult audio. accurate: decode again where words seem to be lost or invented. " +
			"upstream: decide as openai-whisper does; with --pad mel, the text is the same too"},
	{Name: "temperature", Kind: Real, Arg: "temperature", Max: 2, Scope: anywhere, Field: "Temperatures",
		Set:  func(d *Decoding, v Value) { d.first = v.Number },
		Hint: "--temperature-increment-on-fallback sets the step to each further one",
		Help: "temperature of the first attempt at each window; above 1, the text is mostly noise"},
	{Name: "temperature-increment-on-fallback", Kind: Real, Arg: "step", Default: "0.2", None: true, Min: 0.01, Max: 2,
		Scope: Configurable, Set: func(d *Decoding, v Value) { d.increment = v },
		Help: "temperature increase, up to 1, for each new attempt at a window that fails the thresholds"},
	{Name: "beam-size", Kind: Whole, Max: maxSequences, Scope: anywhere, Field: "BeamSize",
		Set:  func(d *Decoding, v Value) { d.BeamSize = int(v.Number) },
		Help: "beam search width at temperature 0, which disables the assistant; 0 or 1 means greedy decoding"},
	{Name: "compression-ratio-threshold", Kind: Real, Arg: "factor", None: true, Max: 1000,
		Default: number(zero.MaxCompressionRatio), Scope: anywhere, Field: "MaxCompressionRatio",
		Set:  func(d *Decoding, v Value) { d.MaxCompressionRatio = v.or(math.Inf(1)) },
		Help: "a window fails if the zlib compression ratio of its text is above FACTOR"},
	{Name: "logprob-threshold", Kind: Real, Default: number(zero.MinLogProb), None: true, Min: -1000, Max: 0,
		Scope: anywhere, Field: "MinLogProb",
		Set:  func(d *Decoding, v Value) { d.MinLogProb = v.or(math.Inf(-1)) },
		Help: "a window fails if its mean log-probability is below NUMBER"},
	{Name: "no-speech-threshold", Kind: Real, Arg: "probability", Default: number(zero.MaxNoSpeech), None: true, Max: 1,
		Scope: anywhere, Field: "MaxNoSpeech",
		Set: func(d *Decoding, v Value) { d.MaxNoSpeech = v.or(math.Inf(1)) },
		Help: "skip a window whose no-speech probability is higher, unless its mean log-probability is above " +
			"--logprob-threshold"},
	{Name: "hallucination-silence-threshold", Kind: Real, Arg: "seconds", Default: "none", None: true, Above: true,
		Max: maxSeconds, Scope: Configurable, Needs: "word-timestamps", Field: "HallucinationSilence",
		Set:  func(d *Decoding, v Value) { d.HallucinationSilence = v.or(0) },
		Help: "skip silence longer than this around likely hallucinations"},
}

// The options under the heading As in other programs: Verity's own make them needless, so help shows them last.
var otherRows = []*Option{
	{Name: "prefix", Kind: Text, Max: maxPrompt, Field: "Prefix",
		Set:  func(d *Decoding, v Value) { d.Prefix = v.Text },
		Help: "beginning of the first window's text; decoding continues from it, and the output omits it"},
	{Name: "patience", Kind: Real, Arg: "factor", Max: maxSequences, Scope: Configurable, Needs: "beam-size",
		Field: "Patience", Set: func(d *Decoding, v Value) { d.Patience = v.Number },
		Help: "end beam search when FACTOR times --beam-size sequences are complete; 0 means 1"},
	{Name: "best-of", Kind: Whole, Max: maxSequences, Scope: anywhere, Field: "BestOf",
		Set:  func(d *Decoding, v Value) { d.BestOf = int(v.Number) },
		Help: "above temperature 0, sample NUMBER sequences and choose the best; 0 means 1"},
	{Name: "length-penalty", Kind: Real, Arg: "alpha", Default: "none", None: true, Max: 1, Scope: Configurable,
		Field: "LengthPenalty", Set: setPenalty,
		Help: "rank sequences with the length penalty ((5+tokens)/6)^ALPHA; none uses mean log-probabilities"},
	{Name: "repetition-penalty", Kind: Real, Arg: "factor", Max: 1000, Scope: Configurable,
		Field: "Repetition.Penalty", Set: setRepetition,
		Help: "make tokens that occurred earlier, including in the prompt, less likely by FACTOR; 0 or 1 means no " +
			"penalty"},
	{Name: "no-repeat-ngram-size", Kind: Whole, Arg: "length", Max: maxTokens, Scope: Configurable,
		Field: "Repetition.NoRepeat", Set: func(d *Decoding, v Value) { d.Repetition.NoRepeat = int(v.Number) },
		Help: "never repeat a sequence of LENGTH tokens within a window and its prompt; 0 means no limit"},
	{Name: "min-tokens", Kind: Whole, Max: maxTokens, Scope: Configurable,
		Field: "Repetition.MinTokens", Set: func(d *Decoding, v Value) { d.Repetition.MinTokens = int(v.Number) },
		Help: "decode at least NUMBER tokens in a window, timestamps included; 0 means no limit"},
	{Name: "max-new-tokens", Kind: Whole, Max: maxTokens, Scope: Configurable,
		Field: "Repetition.MaxTokens", Set: func(d *Decoding, v Value) { d.Repetition.MaxTokens = int(v.Number) },
		Help: "end a window's text after NUMBER tokens, timestamps included, and lose the rest of it if no segment has ended; 0 means no limit but that of the model"},
	{Name: "top-k", Kind: Whole, Max: 1024, Scope: Configurable,
		Field: "TopK", Set: func(d *Decoding, v Value) { d.TopK = int(v.Number) },
		Help: "above temperature 0, choose only from the NUMBER likeliest tokens; 0 means all"},
	{Name: "top-p", Kind: Real, Arg: "probability", Max: 1, Scope: Configurable,
		Field: "TopP", Set: func(d *Decoding, v Value) { d.TopP = float32(v.Number) },
		Help: "above temperature 0, choose only from the likeliest tokens that together have this PROBABILITY; 0 means " +
			"all"},
	{Name: "seed", Kind: Unsigned, Scope: Configurable, Field: "Seed",
		Set:  func(d *Decoding, v Value) { d.Seed, _ = strconv.ParseUint(v.Text, 10, 64) },
		Help: "random seed for sampling above temperature 0"},
	{Name: "max-words-per-line", Kind: Whole, Arg: "words", Max: maxLine, Scope: Configurable, Needs: "word-timestamps",
		Formats: subtitles, Excludes: "max-line-width", Help: "maximum words per subtitle; 0 means no limit"},
	{Name: "prepend-punctuations", Kind: Text, Arg: "marks", Max: maxLine, Scope: Configurable, Needs: "word-timestamps",
		Default: zero.PrependPunctuations, Field: "PrependPunctuations",
		Set:  func(d *Decoding, v Value) { d.PrependPunctuations = v.Text },
		Help: "punctuation marks that attach to the following word"},
	{Name: "append-punctuations", Kind: Text, Arg: "marks", Max: maxLine, Scope: Configurable, Needs: "word-timestamps",
		Default: zero.AppendPunctuations, Field: "AppendPunctuations",
		Set:  func(d *Decoding, v Value) { d.AppendPunctuations = v.Text },
		Help: "punctuation marks that attach to the preceding word"},
}

// A Decoding collects the values of options that become transcribe.Options.
//
// A request uses only the embedded Options and does not call Result. Only temperature sets a
// field outside them, and the server reads that itself.
//
// The set functions ignore errors, since Parse has checked the text.
type Decoding struct {
	transcribe.Options

	first     float64 // temperature
	increment Value
	vadOn     bool
	vad       vad.Options
}

// Result returns the collected options, with a log.
func (d *Decoding) Result(log *slog.Logger) transcribe.Options {
	o := d.Options
	o.Log = log
	step := cmp.Or(d.increment.Number, zero.Temperatures[1]-zero.Temperatures[0]) // not every command has the option
	if d.increment.Off {
		step = 0
	}
	o.Temperatures = transcribe.Temperatures(d.first, step)
	if d.vadOn {
		v := d.vad
		o.VAD = &v
	}
	return o
}

// readTerms reads the file that terms names.
func readTerms(path string) ([]transcribe.Term, error) {
	if path == "" {
		return nil, nil
	}
	text, err := input.Read(context.Background(), path, transcribe.MaxTermsText)
	if err != nil {
		return nil, fmt.Errorf("%w; want a file with a name or term on each line", input.Cause(err))
	}
	terms, err := transcribe.ParseTerms(string(text))
	if err == nil && len(terms) == 0 {
		err = errors.New("holds no term; want a name or term on each line")
	}
	return terms, err
}

// tokenIDs reads ids between commas. It returns nil for auto, the list of the model.
func tokenIDs(text string) ([]tokenizer.Token, error) {
	if text == "auto" {
		return nil, nil
	}
	list := []tokenizer.Token{} // not nil: an empty list suppresses nothing
	for field := range strings.SplitSeq(text, ",") {
		if field == "" {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("want auto or token ids separated by commas%s", gotPart(field, text))
		}
		list = append(list, tokenizer.Token(v))
	}
	return list, nil
}

// expression reads a regular expression; an empty one is nil.
func expression(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	e, err := regexp.Compile(text)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("want a regular expression; this one has a %s: %s", wrong.Code, wrong.Expr)
	}
	return e, err
}

// audioContext reads how many positions of the encoder a window has.
func audioContext(text string) (int, error) {
	switch n, err := strconv.Atoi(text); {
	case text == "all":
		return transcribe.WholeWindows, nil
	case text == "fit":
		return 0, nil
	case err == nil && n > 0 && n <= maxPositions:
		return n, nil
	}
	return 0, fmt.Errorf("want fit, all or a number of positions from 1 to %d", maxPositions)
}

func setPenalty(d *Decoding, v Value) {
	if d.LengthPenalty = nil; !v.Off {
		d.LengthPenalty = &v.Number
	}
}

// setRepetition keeps a number that is too small for 32 bits from becoming 0, which would turn
// the penalty off.
func setRepetition(d *Decoding, v Value) {
	d.Repetition.Penalty = float32(v.Number)
	if d.Repetition.Penalty == 0 && v.Number != 0 {
		d.Repetition.Penalty = math.SmallestNonzeroFloat32
	}
}

// DecodingFlags returns a function that adds the flags of all decoding options in a scope. Together
// with the model they decide the text.
func DecodingFlags(d *Decoding, scope Scope) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, o := range All() {
			if o.Set != nil && o.Scope&scope == scope {
				AddOption(f, o.Name, func(v Value) error { o.Set(d, v); return nil })
			}
		}
	}
}

// InFlag turns the error of an option into one that names its flag.
func InFlag(err error) error {
	var bad *option.Error
	if !errors.As(err, &bad) {
		return err
	}
	name, value := bad.Option, " "+show.Value(fmt.Sprint(bad.Value))
	if i := slices.IndexFunc(All(), func(o *Option) bool { return o.Field == bad.Option }); i >= 0 {
		o := All()[i]
		if name = o.Name; o.Kind == Switch || bad.Value == nil {
			value = ""
		}
	}
	reason := bad.Reason
	if bad.Option == "Language" {
		reason += "; verity info lists the languages of a model"
	}
	return Usagef("--%s%s: %s", name, value, reason)
}
