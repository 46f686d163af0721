package options

import (
	"math"
	"regexp"
	"strconv"

	"verity/internal/show"
	"verity/parallel"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
	"verity/wer/normalize"
)

// The groups of options; Groups has their order.
const (
	Input     = "Input"
	Output    = "Output"
	Subtitles = "Subtitles"
	Model     = "Model"
	Words     = "Text"
	Voice     = "Voice activity"
	Quality   = "Search and thresholds"
	Speed     = "Speed"
	Drafts    = "Drafting (changes the time; the text only with --sampler rejection)"
	Serving   = "Serving"
	Dataset   = "Dataset"
	Runs      = "Runs"
	Report    = "Report"
	Log       = "Log"
)

// Groups are the headings of help, in order.
var Groups = []string{Dataset, Runs, Input, Output, Subtitles, Model, Words, Voice, Quality, Speed, Drafts, Serving, Report, Log}

// Ceilings that follow from the model or from memory.
const (
	tokens    = 448      // of a window's text with its prompt, in every published model
	positions = 1500     // of the encoder in a window
	sequences = 64       // of a search: each holds keys and values of its own
	longest   = 1e6      // seconds of sound: eleven days
	prompt    = 64 << 10 // bytes; a model reads 224 tokens of them
	line      = 1000     // characters
	hour      = 3600e3   // ms
	month     = 30 * 86400
)

// Batch bounds the utterances that are under way at the same time.
const Batch = 1024

// zero is what the library does without options; the table takes its defaults from there.
var zero = transcribe.Options{}.WithDefaults()

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

var table = []*Option{
	// Input.
	{Name: "channel", Kind: Whole, Max: 65535, Group: Input, Who: Keep,
		Help: "transcribe only the channel of this `number`, from 1; 0 means the mean of all"},
	{Name: "speakers", Kind: Choice, Unit: "where", Default: "one", Choices: []string{"one", "channels"}, Group: Input, Not: "channel", Needs: "word-timestamps",
		Help: "channels transcribes each channel alone, as of a call that was recorded on two, and names the speaker of every text; a channel " +
			"that is silent costs nothing"},
	{Name: "ffmpeg", Kind: Text, Max: 4096, Default: "auto", Group: Input, Who: Keep | Server,
		Help: "`program` that decodes what Verity does not read itself: auto for the installed ffmpeg, never, or a path"},
	{Name: "strict", Group: Input, Who: Keep, Help: "make damaged or missing sound an error; otherwise it is silence, and a warning says where"},
	{Name: "recursive", Group: Input, Help: "of a directory, take also the sound files in the directories below it"},
	{Name: "clip-timestamps", Kind: List, Unit: "times", Default: "0", Check: checks(spans), Group: Input, Field: "Spans", Set: setSpans, Not: "vad",
		Help: "parts to transcribe: start,end,start,end,… in seconds. The last end may be left out"},

	// Output.
	{Name: "output-format", Brief: "txt, srt, vtt, ass, tsv, lrc, csv, json or all", Short: "f", Kind: List, Unit: "formats", Choices: formats(), Check: checks(Formats), Group: Output, Who: Keep,
		Help: "one or more of txt, srt, vtt, ass, tsv, lrc, csv and json, separated by commas, or all (default txt)"},
	{Name: "output-dir", Brief: "write files here, not to standard output", Short: "o", Kind: Text, Unit: "directory", Max: 4096, Group: Output, Who: Keep,
		Help: "write files to this `directory` instead of standard output"},
	{Name: "force", Brief: "replace files that exist", Group: Output, Needs: "output-dir", Not: "skip-existing", Help: "replace files that exist"},
	{Name: "skip-existing", Brief: "leave files that exist: resumes a run", Group: Output, Needs: "output-dir",
		Help: "leave files that exist, and skip sound files whose outputs all do"},
	{Name: "timestamps", Brief: "write times before the text", Group: Output, Who: Keep, Help: "on standard output, write the times of each segment before its text"},
	{Name: "stats", Group: Output, Who: Keep, Help: "write the work done for each file to standard error: tokens, drafts, times, memory " +
		"traffic. JSON of several files on standard output ends with an object of the totals"},
	{Name: "highlight", Kind: Choice, Unit: "when", Default: "never", Alone: "auto", Choices: []string{"auto", "always", "never"}, Group: Output, Who: Keep,
		Help: "mark text that the assistant drafted: auto (on a terminal; what the flag alone means), always or never. " +
			"With NO_COLOR it is underlined"},
	{Name: "progress", Kind: Choice, Unit: "when", Default: "auto", Alone: "always", Choices: []string{"auto", "always", "never"}, Group: Output, Who: Keep,
		Help: "show progress: auto (a bar on a terminal), always (also a line every ten seconds elsewhere; what the flag alone means) or never"},

	// Subtitles.
	{Name: "word-timestamps", Brief: "find the time of every word", Group: Subtitles, Who: Keep | Server, Field: "WordTimestamps",
		Set:  func(d *Decoding, v Value) error { d.WordTimestamps = v.On; return nil },
		Help: "find the time of every word by a second pass over the final text. Segments then begin and end with their words"},
	{Name: "subtitles", Brief: "cut for reading: two lines of 42, at sentences", Group: Subtitles, Who: Keep, Needs: "word-timestamps", Not: "max-words-per-line",
		Help: "cut subtitles for reading: at sentences, clauses and pauses, in two lines of 42 characters (or --max-line-count of " +
			"--max-line-width), each for a second or more and for as long as reading takes. The format is srt unless -f says otherwise"},
	{Name: "max-line-width", Brief: "most characters in a line", Kind: Whole, Max: line, Group: Subtitles, Who: Keep, Needs: "word-timestamps",
		Help: "most `characters` in a line of a subtitle; 0 means any number"},
	{Name: "max-line-count", Brief: "most lines in a subtitle", Kind: Whole, Max: line, Group: Subtitles, Who: Keep, Needs: "word-timestamps",
		Help: "most `lines` in a subtitle; 0 means any number"},
	{Name: "max-words-per-line", Kind: Whole, Max: line, Group: Subtitles, Who: Keep, Needs: "word-timestamps", Not: "max-line-width",
		Help: "most `words` in a subtitle; 0 means any number"},
	{Name: "highlight-words", Group: Subtitles, Who: Keep, Needs: "word-timestamps", Not: "subtitles",
		Help: "underline each word in srt, vtt and ass as it is spoken"},
	{Name: "prepend-punctuations", Kind: Text, Unit: "marks", Max: line, Default: zero.PrependPunctuations, Group: Subtitles, Who: Keep,
		Field: "PrependPunctuations", Needs: "word-timestamps",
		Set:  func(d *Decoding, v Value) error { d.PrependPunctuations = v.Text; return nil },
		Help: "`marks` that are joined to the word after them"},
	{Name: "append-punctuations", Kind: Text, Unit: "marks", Max: line, Default: zero.AppendPunctuations, Group: Subtitles, Who: Keep,
		Field: "AppendPunctuations", Needs: "word-timestamps",
		Set:  func(d *Decoding, v Value) error { d.AppendPunctuations = v.Text; return nil },
		Help: "`marks` that are joined to the word before them"},

	// Model.
	{Name: "model", Brief: "base (in this program), small, …, or a path", Short: "m", Kind: Text, Unit: "name", Max: 4096, Group: Model, Who: Keep | Server,
		Help: "base, which is part of this program; the `name` of another published model, such as small or openai/whisper-small, " +
			"which is downloaded if it is not in the cache; or the path of a checkpoint: a directory of Hugging Face or CTranslate2, " +
			"a .pt file of openai/whisper, a ggml file of whisper.cpp"},
	{Name: "language", Brief: "as en or English; detected if not given", Short: "l", Kind: Text, Unit: "language", Default: "auto", Max: 64, Check: checkLanguage, Group: Model,
		Who: Keep | Server | Request, Field: "Language", Set: setLanguage,
		Help: "spoken `language`, as en or English; several, as en,de, for the likeliest of these; auto detects it"},
	{Name: "multilingual", Group: Model, Who: Keep, Field: "Multilingual",
		Set:  func(d *Decoding, v Value) error { d.Multilingual = v.On; return nil },
		Help: "detect the language of every window anew. JSON says which in each segment"},
	{Name: "task", Brief: "transcribe, or translate to English", Kind: Choice, Unit: "task", Default: string(zero.Task), Choices: []string{"transcribe", "translate"}, Group: Model, Who: Keep, Field: "Task",
		Set:  func(d *Decoding, v Value) error { d.Task = transcribe.Task(v.Text); return nil },
		Help: "transcribe, or translate to English"},
	{Name: "offline", Group: Model, Who: Keep | Server, Help: "download nothing: neither sound nor models, which are then those of the cache, as with HF_HUB_OFFLINE=1"},

	// Text.
	{Name: "initial-prompt", Brief: "names, spelling and style to expect", Kind: Text, Max: prompt, Group: Words, Who: Keep | Server | Request, Field: "InitialPrompt",
		Set:  func(d *Decoding, v Value) error { d.InitialPrompt = v.Text; return nil },
		Help: "`text` that the first window continues: names, spelling, style"},
	{Name: "carry-initial-prompt", Group: Words, Who: Keep | Server | Request, Field: "CarryInitialPrompt", Needs: "initial-prompt",
		Set:  func(d *Decoding, v Value) error { d.CarryInitialPrompt = v.On; return nil },
		Help: "put the initial prompt before every window"},
	{Name: "hotwords", Kind: Text, Max: prompt, Group: Words, Who: Keep | Server | Request, Field: "Hotwords",
		Set:  func(d *Decoding, v Value) error { d.Hotwords = v.Text; return nil },
		Help: "`text` that every window is shown before the text so far: likely names and terms"},
	{Name: "prefix", Kind: Text, Max: prompt, Group: Words, Field: "Prefix",
		Set:  func(d *Decoding, v Value) error { d.Prefix = v.Text; return nil },
		Help: "`text` that the first window begins with. Decoding continues it, and it is not in the output"},
	{Name: "condition-on-previous-text", Default: "true", Group: Words, Who: Keep | Server | Request, Field: "ForgetPrevious",
		Set:  func(d *Decoding, v Value) error { d.ForgetPrevious = !v.On; return nil },
		Help: "show each window the text before it"},
	{Name: "without-timestamps", Group: Words, Who: Keep, Field: "WithoutTimestamps",
		Set:  func(d *Decoding, v Value) error { d.WithoutTimestamps = v.On; return nil },
		Help: "decode text only. Each window is then one segment"},
	{Name: "suppress-tokens", Kind: List, Unit: "ids", Default: "auto", Check: checks(tokenIDs), Group: Words, Who: Keep, Field: "SuppressTokens", Set: setTokens,
		Help: "ids of tokens that are never chosen, separated by commas; -1 means marks that are not spoken, auto the list of the model"},
	{Name: "suppress-expression", Kind: Text, Max: 4096, Check: checks(regexp.Compile), Group: Words, Who: Keep, Field: "SuppressExpression", Set: setExpression,
		Help: "never choose tokens that this regular `expression` matches completely, leading space included; ' ?[0-9]+' makes the model " +
			"write numbers as words"},
	{Name: "audio-context", Kind: List, Unit: "positions", Default: "all", Choices: []string{"all", "fit"}, Check: checkContext, Group: Words, Who: Keep,
		Field: "AudioContext", Set: setContext,
		Help: "positions of 20 ms that the encoder hears of a window, up to 1500, or fit: as many as a short file needs. Faster for short " +
			"files, but the text may differ: models were trained on 30 s"},
	{Name: "pad", Kind: Choice, Unit: "kind", Default: "audio", Choices: []string{"audio", "mel"}, Group: Words, Who: Keep, Field: "Pad", Set: setPad,
		Help: "what follows the end of the sound in a window: audio (silence, as in training) or mel (zeros, as in openai/whisper)"},

	// Voice activity. Names and defaults are faster-whisper's.
	{Name: "vad", Brief: "skip everything that is not speech", Kind: Choice, Unit: "when", Default: "auto", Alone: "on", Choices: []string{"auto", "on", "off"},
		Group: Voice, Who: Keep | Server, Field: "VAD",
		Set: func(d *Decoding, v Value) error {
			d.vadOn, d.SkipSpeechCheck = v.Text == "on", v.Text == "off"
			return nil
		},
		Help: "voice activity (Silero VAD). on, or the flag alone: find speech first and skip the rest; times remain those of the file. " +
			"auto: hear only windows that the model doubts, and write nothing where there is no speech; not with --chunked. off: as openai/whisper"},
	{Name: "vad-threshold", Kind: Real, Unit: "probability", Default: "0.5", Above: true, Max: 1, Group: Voice, Who: Keep | Server, Needs: "vad",
		Set:  func(d *Decoding, v Value) error { d.vad.Threshold = v.Number; return nil },
		Help: "`probability` at which 32 ms begin speech"},
	{Name: "vad-min-silence-duration-ms", Kind: Whole, Unit: "ms", Default: "2000", Max: hour, Group: Voice, Who: Keep | Server, Needs: "vad",
		Set:  func(d *Decoding, v Value) error { d.vad.MinSilenceDurationMS = v.OrNone(); return nil },
		Help: "silence that ends speech"},

	// Search and thresholds.
	{Name: "temperature", Kind: Real, Max: 2, Group: Quality, Who: Keep | Server | Request, Field: "Temperatures",
		Set:  func(d *Decoding, v Value) error { d.first = v.Number; return nil },
		Help: "`temperature` of the first attempt at a window; above 1 the text is mostly noise"},
	{Name: "temperature-increment-on-fallback", Kind: Real, Default: "0.2", None: true, Min: 0.01, Max: 2, Group: Quality, Who: Keep,
		Set:  func(d *Decoding, v Value) error { d.increment = v; return nil },
		Help: "`step` to the temperature of the next attempt, up to 1, while a window fails the thresholds"},
	{Name: "beam-size", Kind: Whole, Max: sequences, Group: Quality, Who: Keep | Server | Request, Field: "BeamSize",
		Set:  func(d *Decoding, v Value) error { d.BeamSize = int(v.Number); return nil },
		Help: "`number` of sequences of a beam search at temperature 0, which uses no assistant; 0 or 1 means greedy decoding"},
	{Name: "patience", Kind: Real, Max: sequences, Group: Quality, Who: Keep, Field: "Patience", Needs: "beam-size",
		Set:  func(d *Decoding, v Value) error { d.Patience = v.Number; return nil },
		Help: "a beam search ends when --beam-size times this `factor` sequences have ended; 0 means 1"},
	{Name: "best-of", Kind: Whole, Max: sequences, Group: Quality, Who: Keep | Server | Request, Field: "BestOf",
		Set:  func(d *Decoding, v Value) error { d.BestOf = int(v.Number); return nil },
		Help: "`number` of sequences sampled above temperature 0, of which the best is kept; 0 means 1"},
	{Name: "length-penalty", Kind: Real, Default: "none", None: true, Max: 1, Group: Quality, Who: Keep, Field: "LengthPenalty", Set: setPenalty,
		Help: "`alpha` of the length penalty ((5+tokens)/6)^alpha by which sequences are compared; none compares mean log-probabilities"},
	{Name: "compression-ratio-threshold", Kind: Real, Default: number(zero.MaxCompressionRatio), None: true, Max: 1000, Group: Quality, Who: Keep | Server | Request,
		Field: "MaxCompressionRatio", Set: func(d *Decoding, v Value) error { d.MaxCompressionRatio = v.or(math.Inf(1)); return nil },
		Help: "a window fails if zlib shrinks its text by more than this `factor`"},
	{Name: "logprob-threshold", Kind: Real, Default: number(zero.MinLogProb), None: true, Min: -1000, Max: 0, Group: Quality, Who: Keep | Server | Request, Field: "MinLogProb",
		Set:  func(d *Decoding, v Value) error { d.MinLogProb = v.or(math.Inf(-1)); return nil },
		Help: "a window fails if its mean log-probability is lower"},
	{Name: "no-speech-threshold", Kind: Real, Unit: "probability", Default: number(zero.MaxNoSpeech), None: true, Max: 1, Group: Quality, Who: Keep | Server | Request, Field: "MaxNoSpeech",
		Set: func(d *Decoding, v Value) error { d.MaxNoSpeech = v.or(math.Inf(1)); return nil },
		Help: "skip a window whose `probability` of no speech is higher, unless its mean log-probability is above " +
			"--logprob-threshold"},
	{Name: "hallucination-silence-threshold", Kind: Real, Unit: "seconds", Default: "none", None: true, Above: true, Max: longest, Group: Quality, Who: Keep,
		Field: "HallucinationSilence", Needs: "word-timestamps",
		Set:  func(d *Decoding, v Value) error { d.HallucinationSilence = v.or(0); return nil },
		Help: "skip silences of more than this around likely hallucinations"},
	{Name: "repetition-penalty", Kind: Real, Unit: "factor", Max: 1000, Group: Quality, Who: Keep, Field: "Repetition.Penalty", Set: setRepetition,
		Help: "`factor` that makes tokens less likely that came before, prompt included; 0 or 1 means none"},
	{Name: "no-repeat-ngram-size", Kind: Whole, Max: tokens, Group: Quality, Who: Keep, Field: "Repetition.NoRepeat",
		Set:  func(d *Decoding, v Value) error { d.Repetition.NoRepeat = int(v.Number); return nil },
		Help: "`length` of runs of tokens that may not occur twice in a window, prompt included; 0 means any"},
	{Name: "seed", Kind: Unsigned, Group: Quality, Who: Keep, Field: "Seed", Set: setSeed,
		Help: "`number` that seeds sampling above temperature 0"},

	// Speed.
	{Name: "threads", Brief: "0 means one for each fast core", Kind: Whole, Max: parallel.MaxThreads, Group: Speed, Who: Keep | Server,
		Help: "`number` of threads; 0 means one for each fast core. The text does not depend on it"},
	{Name: "precision", Brief: "auto, f32, f16, int8, …", Kind: List, Unit: "format", Default: "auto", Choices: precision.List(), Check: checks(ParsePrecision), Group: Speed, Who: Keep | Server,
		Help: "number `format` of the weights: " + precision.Names() + ". auto is f16 if no weight changes by it, else f32; weights of few bits stay as stored. Append " +
			":head=FORMAT for the token embedding (also the output layer) and :cache=FORMAT for the attention cache, as in int4:head=int8"},
	{Name: "batch", Brief: "files at the same time", Kind: Whole, Default: "1", Min: 1, Max: Batch, Group: Speed, Who: Keep,
		Help: "transcribe this `number` of files at the same time. They share every pass over the weights; each needs memory of its own. " +
			"The text does not depend on it"},
	{Name: "chunked", Brief: "parts of a file at the same time", Group: Speed, Who: Keep, Field: "Chunked",
		Set: func(d *Decoding, v Value) error { d.Chunked = v.On; return nil },
		Help: "cut a file into lanes at quiet places and decode several lanes at the same time. Faster for files of three minutes " +
			"and more"},

	// Drafting.
	{Name: "assistant", Brief: "what drafts: auto, none, self, ngram, a model", Short: "a", Kind: Text, Unit: "name", Default: "auto", Max: 4096, Group: Drafts, Who: Keep | Server, Help: assistantHelp},
	{Name: "draft-from", Brief: "text that somebody wrote of the sound", Kind: Text, Unit: "path", Max: 4096, Group: Drafts, Help: draftHelp},
	{Name: "assistant-precision", Kind: List, Unit: "format", Default: "auto", Choices: precision.List(), Check: checks(ParsePrecision), Group: Drafts, Who: Keep | Server,
		Help: "number `format` of the assistant's weights: " + precision.Names() + ". auto is int8"},
	{Name: "draft-tokens", Kind: List, Unit: "number", Default: "auto", Choices: []string{"auto", "heuristic", "confidence"}, Check: checks(ParseDraft), Group: Drafts, Who: Keep | Server,
		Help: "`number` of tokens to draft in a round, up to 64; auto (by cost and acceptance); heuristic (2 more after success, 1 less after " +
			"failure); or confidence (until the assistant is unsure)"},
	{Name: "sampler", Kind: Choice, Unit: "method", Default: "gumbel", Choices: []string{"gumbel", "rejection"}, Group: Drafts, Who: Keep,
		Help: "how drafts are verified above temperature 0. gumbel: exactly the text of plain decoding; rejection: the same distribution, " +
			"but a different text that also varies with draft length"},
	{Name: "measure-alpha", Group: Drafts, Help: "compare the distributions of model and assistant at every drafted token. The statistics then " +
		"have the mean of Σ min(p, q), the acceptance rate α of theory, at the temperature of the window, or 1 where that is 0"},

	// Serving.
	{Name: "listen", Brief: "host:port (default 127.0.0.1:8000)", Kind: Text, Unit: "address", Default: "127.0.0.1:8000", Max: 4096, Group: Serving, Who: Server,
		Help: "`address` to listen on, host:port"},
	{Name: "api-key-file", Brief: "keys that are accepted, one a line, or none", Kind: Text, Unit: "file", Max: 4096, Group: Serving, Who: Server,
		Help: "`file` of the API keys that are accepted, one a line; empty lines and lines that begin with # are skipped; none lets other machines connect without a key"},
	{Name: "origin", Kind: Text, Unit: "origins", Max: prompt, Group: Serving, Who: Server,
		Help: "web `origins` whose pages may call the server, separated by commas, as https://example.org, or *"},
	{Name: "alias", Kind: Text, Unit: "names", Max: prompt, Group: Serving, Who: Server,
		Help: "further `names` of the model in requests, separated by commas, or *. Its own name in other forms and OpenAI's names need none"},
	{Name: "tls-cert", Kind: Text, Unit: "file", Max: 4096, Group: Serving, Who: Server,
		Help: "`file` of the certificate for https and its key, in PEM, or CERTIFICATE,KEY for two files; they are read again when they change"},
	{Name: "model-memory", Kind: Whole, Unit: "MiB", Max: 1 << 30, Group: Serving, Who: Server,
		Help: "most memory of the models that are loaded on first use, in `MiB`: the one that was used longest ago makes room; 0 means any"},
	{Name: "queue", Kind: Whole, Default: "64", Max: 1e5, Group: Serving, Who: Server,
		Help: "`number` of requests that may wait; more are refused and may try again"},
	{Name: "sessions", Kind: Whole, Default: "16", Max: 1e4, Group: Serving, Who: Server, Help: "`number` of realtime sessions at the same time"},
	{Name: "max-upload", Kind: Whole, Unit: "MiB", Default: "512", Min: 1, Max: 1 << 20, Group: Serving, Who: Server, Help: "largest upload in `MiB`"},
	{Name: "max-audio", Kind: Time, Default: "6h", Above: true, Max: month, Group: Serving, Who: Server,
		Help: "longest sound of a request, and longest realtime session"},
	{Name: "timeout", Kind: Time, Default: "2h", Above: true, Max: month, Group: Serving, Who: Server, Help: "longest time for a request"},
	{Name: "grace", Kind: Time, Default: "10m", Max: month, Group: Serving, Who: Server, Help: "time that accepted requests have after SIGTERM"},

	// Measuring.
	{Name: "dataset", Brief: "a folder or a manifest", Short: "d", Kind: Text, Unit: "path", Max: 4096, Group: Dataset,
		Help: "`path` of the dataset: a LibriSpeech folder, a JSON-lines, TSV or CSV manifest, Parquet files, or a folder with a .txt " +
			"beside each sound"},
	{Name: "limit", Brief: "only the first utterances", Kind: Whole, Max: 1e9, Group: Dataset, Help: "run only the first `number` of utterances; 0 means all"},
	{Name: "split", Kind: Text, Unit: "value", Max: line, Group: Dataset, Help: "take only rows whose field split has this `value`"},
	{Name: "columns", Kind: Text, Unit: "names", Max: line, Group: Dataset, Help: "`names` of the fields or columns with the sound and with the text, as path,sentence"},
	{Name: "allow-empty-text", Group: Dataset, Help: "count every word as wrong where the text is empty; otherwise such a row is broken"},
	{Name: "repeats", Brief: "runs of each utterance in each arm", Kind: Whole, Default: "1", Min: 1, Max: 1000, Group: Runs,
		Help: "run each utterance this `number` of times in each arm"},
	{Name: "group", Kind: Whole, Max: Batch, Group: Runs, Help: "`number` of utterances in a pair, --batch of them at a time; 0 means as many as --batch"},
	{Name: "out", Brief: "keep the records here", Short: "o", Kind: Text, Unit: "directory", Max: 4096, Group: Report, Help: "keep the records in this `directory`"},
	{Name: "html", Brief: "write a page", Kind: Text, Unit: "file", Max: 4096, Group: Report, Help: "write a page to `file`; it needs no network. It holds small recordings " +
		"(report: only those beside it or below) and links larger ones beside it or below"},
	{Name: "normalizer", Kind: Choice, Unit: "name", Default: "auto", Choices: append([]string{"auto"}, normalize.Names()...), Group: Report,
		Help: "how texts are normalized before scoring: auto, " + show.JoinOr(normalize.Names())},
	{Name: "json", Brief: "write JSON", Group: Report, Help: "write JSON"},

	// Log.
	{Name: "quiet", Brief: "only errors on standard error", Short: "q", Group: Log, Who: Keep | Server, Help: "write only errors to standard error"},
	{Name: "log-level", Kind: Choice, Unit: "level", Default: "warn", Choices: []string{"debug", "info", "warn", "error"}, Group: Log, Who: Keep | Server,
		Help: "level of the log: debug (every decision), info, warn or error"},
}

const assistantHelp = `what drafts tokens for the model to verify
auto: the model's own assistant if it is part of this program; else the published partner of a published model, if that is in the cache; else none
none: plain decoding
ngram: what followed the last words when they came before; no model
bigram: what followed each token most often before; no model, a baseline
self: the model itself, in --assistant-precision
or the directory of a distilled decoder or a smaller Whisper; one of another vocabulary transcribes each sound first`

const draftHelp = `draft from text that somebody wrote of the sound: the result is the same, and comes sooner
a transcript of any program or person: txt, srt, vtt, ass, tsv, csv, lrc, or the json of verity, openai-whisper or whisper.cpp
a directory with one of the same name for each sound, or beside: they are beside the sounds
of a dataset also the directory of records of an earlier eval or compare, or references: its own texts
An assistant drafts where the text has nothing`

// formats are what output-format takes.
func formats() []string {
	names := []string{"all"}
	for _, f := range transcript.Formats() {
		names = append(names, string(f))
	}
	return names
}
