package cli

import (
	"errors"
	"log/slog"
	"math"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/transcribe"
)

// decodingFlags say how to decode: they decide the text, together with the model.
type decodingFlags struct {
	opt       transcribe.Options // of flags that need no translation
	task      string
	pad       string
	condition bool
	first     float64 // temperature
	increment number
	ratio     number
	logProb   number
	noSpeech  number
	initial   number // latest first timestamp
	penalty   number // of the length
	suppress  tokenList
	vad       vadFlags

	context audioContext
	forbid  string // expression
	chunked bool
	chunks  transcribe.ChunkOptions

	hallucination number
	spans         spanList
	offset        float64
	duration      float64
}

func newDecodingFlags() decodingFlags {
	d := transcribe.Defaults()
	return decodingFlags{
		increment: number{value: d.Temperatures[1] - d.Temperatures[0]},
		ratio:     number{value: d.MaxCompressionRatio},
		logProb:   number{value: d.MinLogProb},
		noSpeech:  number{value: d.MaxNoSpeech},
		initial:   number{value: d.MaxInitialTimestamp},
		vad:       newVADFlags(),
		penalty:   number{off: true},
		opt:       transcribe.Options{PrependPunctuations: d.PrependPunctuations, AppendPunctuations: d.AppendPunctuations},

		hallucination: number{off: true},
	}
}

// registerLanguage adds the flags that most users need.
func (d *decodingFlags) registerLanguage(f *pflag.FlagSet) {
	f.StringVarP(&d.opt.Language, "language", "l", "", "spoken `language`, as en or English (default auto: detect it)")
	f.BoolVar(&d.opt.Multilingual, "multilingual", false,
		"detect the language of every window anew; JSON says which in each segment")
	f.StringVar(&d.task, "task", "transcribe", "transcribe, or translate to English")
}

func (d *decodingFlags) registerText(f *pflag.FlagSet) {
	f.StringVar(&d.opt.Prefix, "prefix", "",
		"`text` that the first window begins with; what is decoded continues it, and it is not in the output")
	f.StringVar(&d.opt.Hotwords, "hotwords", "",
		"`text` that every window is shown before the text so far: names and terms that are likely")
	f.StringVar(&d.opt.InitialPrompt, "initial-prompt", "",
		"`text` that the first window continues: names, spelling, style")
	f.BoolVar(&d.opt.CarryInitialPrompt, "carry-initial-prompt", false, "put the initial prompt before every window")
	f.BoolVar(&d.condition, "condition-on-previous-text", true, "show each window the text before it")
	f.Var(&d.spans, "clip-timestamps", "parts to transcribe, start,end,start,end,… in seconds; the last end may be left "+
		"out")
	f.Float64Var(&d.offset, "offset", 0, "`seconds` of audio to skip at the start")
	f.Float64Var(&d.duration, "duration", 0, "transcribe only this many `seconds`; 0 means up to the end")
	f.BoolVar(&d.opt.WordTimestamps, "word-timestamps", false,
		"find the time of every word, by a second pass over the final text; segments then begin and end with their words")
	f.StringVar(&d.opt.PrependPunctuations, "prepend-punctuations", d.opt.PrependPunctuations,
		"with --word-timestamps, `marks` to join to the word after them")
	f.StringVar(&d.opt.AppendPunctuations, "append-punctuations", d.opt.AppendPunctuations,
		"with --word-timestamps, `marks` to join to the word before them")
	f.Var(&d.hallucination, "hallucination-silence-threshold",
		"with --word-timestamps, skip silences of more `seconds` than this around likely hallucinations, or none")
	f.BoolVar(&d.opt.WithoutTimestamps, "without-timestamps", false, "decode text only; a window is then one segment")
	f.Var(&d.initial, "max-initial-timestamp", "latest start of a window's first segment in seconds, or none")
	f.Var(&d.context, "audio-context", "positions of 20 ms that the encoder hears of a window, or fit: as many as a "+
		"short file needs. Sooner for short files, and not the same text: models were trained with 30 s. all means the "+
		"model's")
	f.StringVar(&d.pad, "pad", "audio", "what follows the end of the audio in a window: audio (silence, as in training) "+
		"or mel (zeros, as in openai/whisper)")
}

func (d *decodingFlags) registerQuality(f *pflag.FlagSet) {
	f.Float64Var(&d.first, "temperature", 0, "`temperature` of the first attempt at a window")
	f.IntVar(&d.opt.BeamSize, "beam-size", 0,
		"`number` of sequences of a beam search at temperature 0, without the assistant; 0 or 1 for greedy decoding")
	f.Float64Var(&d.opt.Patience, "patience", 0,
		"a beam search ends when --beam-size times this `factor` sequences have ended; 0 means 1")
	f.IntVar(&d.opt.BestOf, "best-of", 0, "`number` of sequences to sample above temperature 0, of which the best is "+
		"kept; 0 means 1")
	f.Var(&d.penalty, "length-penalty", "`alpha` from 0 to 1 of the length penalty ((5+tokens)/6)^alpha that sequences "+
		"are compared with, or none (their mean log-probability)")
	f.Var(&d.increment, "temperature-increment-on-fallback",
		"step to the next attempt, up to 1, while a window fails the thresholds, or none")
	f.Var(&d.ratio, "compression-ratio-threshold",
		"a window fails if zlib shrinks its text by more than this factor, or none")
	f.Var(&d.logProb, "logprob-threshold", "a window fails if its mean log-probability is lower, or none")
	f.Var(&d.noSpeech, "no-speech-threshold", "skip a window whose no-speech probability is higher, unless its mean "+
		"log-probability is above --logprob-threshold, or none")
	f.Var(&d.suppress, "suppress-tokens", "token ids that are never chosen, between commas; -1 means marks that are not "+
		"spoken, auto the model's own list")
	f.StringVar(&d.forbid, "suppress-expression", "", "regular `expression`: text tokens that it matches from end to "+
		"end, space before a word included, are never chosen. ' ?[0-9]+' has numbers spelled")
	f.Var((*factor)(&d.opt.Repetition.Penalty), "repetition-penalty",
		"`factor` that makes tokens less likely that came before, prompt included; 0 or 1 for none")
	f.IntVar(&d.opt.Repetition.NoRepeat, "no-repeat-ngram-size", 0,
		"`length` of token runs that may not occur twice in a window, prompt included; 0 for any")
	f.IntVar(&d.opt.Repetition.MinTokens, "min-new-tokens", 0,
		"`number` of tokens, timestamps included, before a window's text may end")
	f.IntVar(&d.opt.TopK, "top-k", 0, "above temperature 0, choose among this `number` of tokens; 0 for all")
	f.Float64Var(&d.opt.TopP, "top-p", 0, "above temperature 0, choose among the likeliest tokens that have this "+
		"`share` of the probability; 0 for all")
	f.Uint64Var(&d.opt.Seed, "seed", 0, "`number` that seeds sampling above temperature 0")
}

// registerChunks adds the flags of parts that are decoded at the same time.
func (d *decodingFlags) registerChunks(f *pflag.FlagSet) {
	f.BoolVar(&d.chunked, "chunked", false, "cut a file into lanes at quiet places and decode several lanes at the same time: "+
		"faster for files of three minutes and more")
	f.Float64Var(&d.chunks.Length, "chunk-length", 0, "with --chunked, minimum length of a lane in `seconds`; 0 means 90")
	f.IntVar(&d.chunks.Windows, "chunk-batch", 0, "with --chunked, `number` of parts of a file to decode at the same "+
		"time; each needs memory. 0 means 16, or 8 with models larger than small. The text does not depend on it")
}

func (d *decodingFlags) complete(c *cobra.Command) {
	completeLanguage(c)
	completeValues(c, "task", "transcribe", "translate")
	completeValues(c, "pad", "audio", "mel")
	completeValues(c, "audio-context", "all", "fit")
}

// completeValues offers the values of a flag to the shell.
func completeValues(c *cobra.Command, flag string, values ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// options returns the options that the flags set.
func (d *decodingFlags) options(log *slog.Logger) (o transcribe.Options, err error) {
	o = d.opt
	if err := oneOf("pad", d.pad, "audio", "mel"); err != nil {
		return o, err
	}
	if o.Pad = audio.PadAudio; d.pad == "mel" {
		o.Pad = audio.PadMel
	}
	o.Log = log
	o.Task, o.AudioContext = transcribe.Task(d.task), int(d.context)
	o.ForgetPrevious = !d.condition
	if strings.EqualFold(o.Language, "auto") {
		o.Language = "" // detect it
	}
	if !d.hallucination.off {
		if o.HallucinationSilence = d.hallucination.value; !(o.HallucinationSilence > 0) {
			return o, usagef("--hallucination-silence-threshold %v: must be above 0, or none", d.hallucination.value)
		}
	}
	if o.Spans, err = d.parts(); err != nil {
		return o, err
	}
	o.MaxCompressionRatio = d.ratio.or(math.Inf(1))
	o.MinLogProb = d.logProb.or(math.Inf(-1))
	o.MaxNoSpeech = d.noSpeech.or(math.Inf(1))
	o.MaxInitialTimestamp = d.initial.or(math.Inf(1))
	if !d.penalty.off {
		o.LengthPenalty = &d.penalty.value
	}
	if err := d.setChunks(&o); err != nil {
		return o, err
	}
	if d.suppress.set {
		o.SuppressTokens = d.suppress.tokens
	}
	if o.VAD, err = d.vad.options(); err != nil {
		return o, err
	}
	if o.VAD != nil && o.Spans != nil {
		return o, usagef("--vad: cannot be combined with --clip-timestamps")
	}
	if d.forbid != "" {
		if o.SuppressExpression, err = regexp.Compile(d.forbid); err != nil {
			return o, usagef("--suppress-expression: %v", err)
		}
	}
	o.Temperatures, err = temperatures(d.first, d.increment)
	return o, err
}

// setChunks asks for parts that are decoded at the same time if --chunked does.
func (d *decodingFlags) setChunks(o *transcribe.Options) error {
	c := d.chunks
	switch {
	case d.chunked && (c.Windows < 0 || c.Windows > transcribe.MaxChunkWindows):
		return usagef("--chunk-batch %d: must be from 0 to %d", c.Windows, transcribe.MaxChunkWindows)
	case d.chunked:
		o.Chunked = &c
	case c.Length != 0:
		return usagef("--chunk-length needs --chunked")
	case c.Windows != 0:
		return usagef("--chunk-batch needs --chunked")
	}
	return nil
}

// parts returns the parts to transcribe; nil means all.
func (d *decodingFlags) parts() ([]transcribe.Span, error) {
	switch {
	case !(d.offset >= 0):
		return nil, usagef("--offset %v: must be 0 or more", d.offset)
	case !(d.duration >= 0):
		return nil, usagef("--duration %v: must be 0 or more", d.duration)
	case d.offset == 0 && d.duration == 0:
		return d.spans, nil
	case len(d.spans) > 0:
		return nil, usagef("--clip-timestamps cannot be used with --offset or --duration: name the parts in one way")
	}
	end := math.Inf(1)
	if d.duration > 0 {
		end = d.offset + d.duration
	}
	return []transcribe.Span{{Start: d.offset, End: end}}, nil
}

// flagOf is the flag that sets a field of transcribe.Options.
var flagOf = map[string]string{
	"Language": "language", "Task": "task", "WithoutTimestamps": "without-timestamps", "Temperatures": "temperature",
	"MaxCompressionRatio": "compression-ratio-threshold", "MinLogProb": "logprob-threshold", "MaxNoSpeech": "no-speech-threshold",
	"InitialPrompt": "initial-prompt", "CarryInitialPrompt": "carry-initial-prompt", "SuppressTokens": "suppress-tokens",
	"MaxInitialTimestamp": "max-initial-timestamp", "Spans": "clip-timestamps", "Pad": "pad",
	"Repetition.Penalty": "repetition-penalty", "Repetition.NoRepeat": "no-repeat-ngram-size", "Repetition.MinTokens": "min-new-tokens",
	"TopK": "top-k", "TopP": "top-p", "VAD": "vad",
	"BeamSize": "beam-size", "Patience": "patience", "BestOf": "best-of", "LengthPenalty": "length-penalty",
	"Prefix": "prefix", "Hotwords": "hotwords", "WordTimestamps": "word-timestamps",
	"HallucinationSilence": "hallucination-silence-threshold",
	"Multilingual":         "multilingual", "AudioContext": "audio-context", "SuppressExpression": "suppress-expression",
	"Chunked": "chunked", "Chunked.Length": "chunk-length", "Chunked.Windows": "chunk-batch",
}

// inFlag turns an unusable option into an error of its flag.
func inFlag(err error) error {
	var option *transcribe.OptionError
	if errors.As(err, &option) {
		return usagef("--%s %v: %s", flagOf[option.Field], option.Value, option.Reason)
	}
	return err
}
