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

// The headings of help.
const (
	Dataset   = "Dataset"
	Runs      = "Runs"
	Input     = "Input"
	Output    = "Output"
	Subtitles = "Subtitles"
	Model     = "Model"
	Words     = "Text"
	Voice     = "Voice activity"
	Quality   = "Search and thresholds"
	Speed     = "Speed"
	Drafts    = "Drafting (changes speed; the text only with --sampler rejection)"
	Serving   = "Serving"
	Report    = "Report"
	Log       = "Log"
)

// Upper bounds that follow from the model or from memory.
const (
	tokens    = 448      // in a window with its prompt, in every published model
	positions = 1500     // of the encoder in a window
	sequences = 64       // of a search; each has its own keys and values
	batch     = 1024     // utterances in progress at the same time
	longest   = 1e6      // seconds of sound: eleven days
	prompt    = 64 << 10 // bytes; a model reads 224 tokens of them
	line      = 1000     // characters
	path      = 4096     // bytes
	hour      = 3600e3   // ms
	month     = 30 * 86400
)

const anywhere = Configurable | Server | Request

// zero is what the library does by default; the table takes its defaults from there.
var zero = transcribe.Options{}.WithDefaults()

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// sections are the options in the order of help.
var sections = []struct {
	title   string
	options []*Option
}{
	{Dataset, []*Option{
		{Name: "dataset", Short: "d", Kind: Text, Arg: "path", Max: path,
			Brief: "a folder or a manifest",
			Help: "the dataset: a LibriSpeech folder, a JSON-lines, TSV or CSV manifest, Parquet files, or a folder with " +
				"a .txt beside each sound file"},
		{Name: "limit", Kind: Whole, Max: 1e9,
			Brief: "only the first utterances", Help: "run only the first NUMBER utterances; 0 means all"},
		{Name: "split", Kind: Text, Arg: "value", Max: line,
			Help: "use only rows whose field split has this value"},
		{Name: "columns", Kind: Text, Arg: "names", Max: line,
			Help: "names of the fields or columns with the sound and with the text, such as path,sentence"},
		{Name: "allow-empty-text",
			Help: "count every word as wrong where the text is empty; by default such a row is broken"},
	}},
	{Runs, []*Option{
		{Name: "repeats", Kind: Whole, Default: "1", Min: 1, Max: 1000,
			Brief: "runs of each utterance in each arm", Help: "run each utterance NUMBER times in each arm"},
		{Name: "group", Kind: Whole, Max: batch,
			Help: "time NUMBER utterances together, --batch of them in progress; 0 means as many as --batch"},
	}},
	{Input, []*Option{
		{Name: "channel", Kind: Whole, Max: 65535, Scope: Configurable,
			Help: "transcribe only channel NUMBER, counted from 1; 0 means the mean of all channels"},
		{Name: "speakers", Kind: Choice, Arg: "where", Default: "one", Choices: []string{"one", "channels"},
			Excludes: "channel", Needs: "word-timestamps",
			Help: "one, or channels: transcribe each channel separately, as in a call recorded on two, and name the " +
				"speaker of every text; silent channels cost nothing"},
		{Name: "ffmpeg", Kind: Text, Arg: "program", Default: "auto", Max: path, Scope: Configurable | Server,
			Help: "program for formats that Verity does not read itself: auto for the installed ffmpeg, never, or a path"},
		{Name: "strict", Scope: Configurable,
			Help: "make damaged or missing sound an error; by default it becomes silence, and a warning says where"},
		{Name: "recursive",
			Help: "also use the sound files in the subdirectories of a directory"},
		{Name: "clip-timestamps", Kind: List, Arg: "times", Default: "0", Check: checks(spans), Excludes: "vad",
			Field: "Spans", Set: setSpans,
			Help: "parts to transcribe, in seconds: start,end,start,end,… The last end may be left out"},
	}},
	{Output, []*Option{
		{Name: "output-format", Short: "f", Kind: List, Arg: "formats", Choices: formats(), Check: checks(Formats),
			Scope: Configurable, Brief: "txt, srt, vtt, ass, tsv, lrc, csv, json or all",
			Help: "one or more of txt, srt, vtt, ass, tsv, lrc, csv and json, separated by commas, or all (default txt)"},
		{Name: "output-dir", Short: "o", Kind: Text, Arg: "directory", Max: path, Scope: Configurable,
			Brief: "write files here, not to standard output",
			Help:  "write files to this directory instead of standard output"},
		{Name: "force", Needs: "output-dir", Excludes: "skip-existing",
			Brief: "replace existing files", Help: "replace existing files"},
		{Name: "skip-existing", Needs: "output-dir",
			Brief: "keep existing files: resumes a run",
			Help:  "keep existing files, and skip sound files that have all their outputs"},
		{Name: "timestamps", Scope: Configurable,
			Brief: "write times before the text",
			Help:  "on standard output, write the times of each segment before its text"},
		{Name: "stats", Scope: Configurable,
			Help: "write statistics of each file to standard error: tokens, drafts, times, memory traffic. JSON of " +
				"several files on standard output then ends with an object of totals"},
		{Name: "highlight", Kind: Choice, Arg: "when", Default: "never", BareValue: "auto",
			Choices: []string{"auto", "always", "never"}, Scope: Configurable,
			Help: "mark the text that the assistant drafted: auto (on a terminal; also the flag alone), always or never. " +
				"With NO_COLOR it is underlined"},
		{Name: "progress", Kind: Choice, Arg: "when", Default: "auto", BareValue: "always",
			Choices: []string{"auto", "always", "never"}, Scope: Configurable,
			Help: "show progress: auto (a bar on a terminal), always (elsewhere a line every ten seconds; also the flag " +
				"alone) or never"},
	}},
	{Subtitles, []*Option{
		{Name: "word-timestamps", Scope: Configurable | Server, Field: "WordTimestamps",
			Set:   func(d *Decoding, v Value) { d.WordTimestamps = v.On },
			Brief: "find the time of every word",
			Help: "find the time of every word in a second pass over the final text; segments then begin and end with " +
				"their words"},
		{Name: "subtitles", Scope: Configurable, Needs: "word-timestamps", Excludes: "max-words-per-line",
			Brief: "cut for reading: two lines of 42, at sentences",
			Help: "cut subtitles for reading: at sentences, clauses and pauses, in two lines of 42 characters (or " +
				"--max-line-count of --max-line-width), each for at least a second and as long as reading takes. The " +
				"format is srt unless -f names another"},
		{Name: "max-line-width", Kind: Whole, Arg: "characters", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Brief: "most characters in a line", Help: "most characters in a line of a subtitle; 0 means no limit"},
		{Name: "max-line-count", Kind: Whole, Arg: "lines", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Brief: "most lines in a subtitle", Help: "most lines in a subtitle; 0 means no limit"},
		{Name: "max-words-per-line", Kind: Whole, Arg: "words", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Excludes: "max-line-width", Help: "most words in a subtitle; 0 means no limit"},
		{Name: "highlight-words", Scope: Configurable, Needs: "word-timestamps", Excludes: "subtitles",
			Help: "underline each word in srt, vtt and ass as it is spoken"},
		{Name: "prepend-punctuations", Kind: Text, Arg: "marks", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Default: zero.PrependPunctuations, Field: "PrependPunctuations",
			Set:  func(d *Decoding, v Value) { d.PrependPunctuations = v.Text },
			Help: "punctuation marks that belong to the word after them"},
		{Name: "append-punctuations", Kind: Text, Arg: "marks", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Default: zero.AppendPunctuations, Field: "AppendPunctuations",
			Set:  func(d *Decoding, v Value) { d.AppendPunctuations = v.Text },
			Help: "punctuation marks that belong to the word before them"},
	}},
	{Model, []*Option{
		{Name: "model", Short: "m", Kind: Text, Arg: "name", Max: path, Scope: Configurable | Server,
			Brief: "base (built in), small, …, or a path",
			Help: "base, which is built in; the name of another published model, such as small or openai/whisper-small, " +
				"which is downloaded if it is not in the cache; or the path of a checkpoint: a directory of Hugging Face " +
				"or CTranslate2, a .pt file of openai/whisper, or a ggml file of whisper.cpp"},
		{Name: "language", Short: "l", Kind: Text, Arg: "language", Default: "auto", Max: 64, Check: checkLanguage,
			Scope: anywhere, Field: "Language", Set: setLanguage,
			Brief: "such as en or English; detected by default",
			Help: "spoken language, such as en or English; several, such as en,de, for the likeliest of them; auto " +
				"detects it"},
		{Name: "multilingual", Scope: Configurable, Field: "Multilingual",
			Set:  func(d *Decoding, v Value) { d.Multilingual = v.On },
			Help: "detect the language of every window; JSON names it in each segment"},
		{Name: "task", Kind: Choice, Arg: "task", Default: string(zero.Task), Choices: []string{"transcribe", "translate"},
			Scope: Configurable, Field: "Task", Set: func(d *Decoding, v Value) { d.Task = transcribe.Task(v.Text) },
			Brief: "transcribe, or translate to English", Help: "transcribe, or translate to English"},
		{Name: "offline", Scope: Configurable | Server,
			Help: "download nothing, neither sound nor models; models come from the cache, as with HF_HUB_OFFLINE=1"},
	}},
	{Words, []*Option{
		{Name: "initial-prompt", Kind: Text, Max: prompt, Scope: anywhere, Field: "InitialPrompt",
			Set:   func(d *Decoding, v Value) { d.InitialPrompt = v.Text },
			Brief: "names, spelling and style to expect",
			Help:  "text that the first window continues: names, spelling, style"},
		{Name: "carry-initial-prompt", Scope: anywhere, Needs: "initial-prompt", Field: "CarryInitialPrompt",
			Set:  func(d *Decoding, v Value) { d.CarryInitialPrompt = v.On },
			Help: "put the initial prompt before every window"},
		{Name: "hotwords", Kind: Text, Max: prompt, Scope: anywhere, Field: "Hotwords",
			Set:  func(d *Decoding, v Value) { d.Hotwords = v.Text },
			Help: "likely names and terms, shown to the model in every window before the earlier text"},
		{Name: "prefix", Kind: Text, Max: prompt, Field: "Prefix",
			Set:  func(d *Decoding, v Value) { d.Prefix = v.Text },
			Help: "text that the first window begins with; decoding continues it, and the output leaves it out"},
		{Name: "condition-on-previous-text", Default: "true", Scope: anywhere, Field: "ForgetPrevious",
			Set:  func(d *Decoding, v Value) { d.ForgetPrevious = !v.On },
			Help: "show each window the text before it"},
		{Name: "without-timestamps", Scope: Configurable, Field: "WithoutTimestamps",
			Set:  func(d *Decoding, v Value) { d.WithoutTimestamps = v.On },
			Help: "decode text only; each window is then one segment"},
		{Name: "suppress-tokens", Kind: List, Arg: "ids", Default: "auto", Check: checks(tokenIDs), Scope: Configurable,
			Field: "SuppressTokens", Set: setTokens,
			Help: "ids of tokens that are never chosen, separated by commas; -1 means marks that are not spoken, auto the " +
				"list of the model"},
		{Name: "suppress-expression", Kind: Text, Arg: "expression", Max: path, Check: checks(regexp.Compile),
			Scope: Configurable, Field: "SuppressExpression", Set: setExpression,
			Help: "never choose tokens that this regular expression matches completely, leading space included; " +
				"' ?[0-9]+' makes the model write numbers as words"},
		{Name: "audio-context", Kind: List, Arg: "positions", Default: "all", Choices: []string{"all", "fit"},
			Check: checkContext, Scope: Configurable, Field: "AudioContext", Set: setContext,
			Help: "positions of 20 ms that the encoder sees of a window, up to 1500, or fit: as many as a short file " +
				"needs. Faster for short files, but the text may differ: models were trained on 30 s"},
		{Name: "pad", Kind: Choice, Arg: "kind", Default: "audio", Choices: []string{"audio", "mel"}, Scope: Configurable,
			Field: "Pad", Set: setPad,
			Help: "what follows the end of the sound in a window: audio (silence, as in training) or mel (zeros, as in " +
				"openai/whisper)"},
	}},
	{Voice, []*Option{ // names and defaults of faster-whisper
		{Name: "vad", Kind: Choice, Arg: "when", Default: "auto", BareValue: "on", Choices: []string{"auto", "on", "off"},
			Scope: Configurable | Server, Field: "VAD",
			Set:   func(d *Decoding, v Value) { d.vadOn, d.SkipSpeechCheck = v.Text == "on", v.Text == "off" },
			Brief: "skip everything that is not speech",
			Help: "voice activity detection (Silero VAD). on, or the flag alone: find speech first and skip the rest; " +
				"times remain those of the file. auto: check only the windows that the model doubts, and write nothing " +
				"where there is no speech; not with --chunked. off: as openai/whisper"},
		{Name: "vad-threshold", Kind: Real, Arg: "probability", Default: "0.5", Above: true, Max: 1,
			Scope: Configurable | Server, Needs: "vad",
			Set:  func(d *Decoding, v Value) { d.vad.Threshold = v.Number },
			Help: "probability at which 32 ms begin speech"},
		{Name: "vad-min-silence-duration-ms", Kind: Whole, Arg: "ms", Default: "2000", Max: hour,
			Scope: Configurable | Server, Needs: "vad",
			Set:  func(d *Decoding, v Value) { d.vad.MinSilenceDurationMS = v.OrNone() },
			Help: "silence that ends speech"},
	}},
	{Quality, []*Option{
		{Name: "temperature", Kind: Real, Arg: "temperature", Max: 2, Scope: anywhere, Field: "Temperatures",
			Set:  func(d *Decoding, v Value) { d.first = v.Number },
			Help: "temperature of the first attempt at a window; above 1 the text is mostly noise"},
		{Name: "temperature-increment-on-fallback", Kind: Real, Arg: "step", Default: "0.2", None: true, Min: 0.01, Max: 2,
			Scope: Configurable, Set: func(d *Decoding, v Value) { d.increment = v },
			Help: "step to the temperature of the next attempt, up to 1, while a window fails the thresholds"},
		{Name: "beam-size", Kind: Whole, Max: sequences, Scope: anywhere, Field: "BeamSize",
			Set:  func(d *Decoding, v Value) { d.BeamSize = int(v.Number) },
			Help: "width of the beam search at temperature 0, which uses no assistant; 0 or 1 means greedy decoding"},
		{Name: "patience", Kind: Real, Arg: "factor", Max: sequences, Scope: Configurable, Needs: "beam-size",
			Field: "Patience", Set: func(d *Decoding, v Value) { d.Patience = v.Number },
			Help: "end a beam search when FACTOR times --beam-size sequences are complete; 0 means 1"},
		{Name: "best-of", Kind: Whole, Max: sequences, Scope: anywhere, Field: "BestOf",
			Set:  func(d *Decoding, v Value) { d.BestOf = int(v.Number) },
			Help: "above temperature 0, sample NUMBER sequences and choose the best; 0 means 1"},
		{Name: "length-penalty", Kind: Real, Arg: "alpha", Default: "none", None: true, Max: 1, Scope: Configurable,
			Field: "LengthPenalty", Set: setPenalty,
			Help: "compare sequences with the length penalty ((5+tokens)/6)^ALPHA; none compares mean log-probabilities"},
		{Name: "compression-ratio-threshold", Kind: Real, Arg: "factor", None: true, Max: 1000,
			Default: number(zero.MaxCompressionRatio), Scope: anywhere, Field: "MaxCompressionRatio",
			Set:  func(d *Decoding, v Value) { d.MaxCompressionRatio = v.or(math.Inf(1)) },
			Help: "a window fails if zlib shrinks its text by more than FACTOR"},
		{Name: "logprob-threshold", Kind: Real, Default: number(zero.MinLogProb), None: true, Min: -1000, Max: 0,
			Scope: anywhere, Field: "MinLogProb",
			Set:  func(d *Decoding, v Value) { d.MinLogProb = v.or(math.Inf(-1)) },
			Help: "a window fails if its mean log-probability is lower"},
		{Name: "no-speech-threshold", Kind: Real, Arg: "probability", Default: number(zero.MaxNoSpeech), None: true, Max: 1,
			Scope: anywhere, Field: "MaxNoSpeech",
			Set: func(d *Decoding, v Value) { d.MaxNoSpeech = v.or(math.Inf(1)) },
			Help: "skip a window whose probability of no speech is higher, unless its mean log-probability is above " +
				"--logprob-threshold"},
		{Name: "hallucination-silence-threshold", Kind: Real, Arg: "seconds", Default: "none", None: true, Above: true,
			Max: longest, Scope: Configurable, Needs: "word-timestamps", Field: "HallucinationSilence",
			Set:  func(d *Decoding, v Value) { d.HallucinationSilence = v.or(0) },
			Help: "skip longer silences around likely hallucinations"},
		{Name: "repetition-penalty", Kind: Real, Arg: "factor", Max: 1000, Scope: Configurable,
			Field: "Repetition.Penalty", Set: setRepetition,
			Help: "make earlier tokens less likely by FACTOR, those of the prompt included; 0 or 1 means no penalty"},
		{Name: "no-repeat-ngram-size", Kind: Whole, Arg: "length", Max: tokens, Scope: Configurable,
			Field: "Repetition.NoRepeat", Set: func(d *Decoding, v Value) { d.Repetition.NoRepeat = int(v.Number) },
			Help: "no LENGTH tokens in a row may occur twice in a window, prompt included; 0 means no limit"},
		{Name: "seed", Kind: Unsigned, Scope: Configurable, Field: "Seed", Set: setSeed,
			Help: "seed of sampling above temperature 0"},
	}},
	{Speed, []*Option{
		{Name: "threads", Kind: Whole, Max: parallel.MaxThreads, Scope: Configurable | Server,
			Brief: "0 means one for each fast core",
			Help:  "number of threads; 0 means one for each fast core. The text does not depend on it"},
		{Name: "precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
			Check: checks(ParsePrecision), Scope: Configurable | Server, Brief: "auto, f32, f16, int8, …",
			Help: "number format of the weights: " + precision.Names() + ". auto is f16 if that changes no weight, else " +
				"f32; weights of few bits stay as stored. Append :head=FORMAT for the token embedding (also the output " +
				"layer) and :cache=FORMAT for the attention cache, as in int4:head=int8"},
		{Name: "batch", Kind: Whole, Default: "1", Min: 1, Max: batch, Scope: Configurable,
			Brief: "files at the same time",
			Help: "transcribe NUMBER files at the same time. They share every pass over the weights; each needs memory " +
				"of its own. The text does not depend on it"},
		{Name: "chunked", Scope: Configurable, Field: "Chunked",
			Set:   func(d *Decoding, v Value) { d.Chunked = v.On },
			Brief: "parts of a file at the same time",
			Help: "cut a file at quiet places into lanes and decode several at the same time; faster for files of three " +
				"minutes and more"},
	}},
	{Drafts, []*Option{
		{Name: "assistant", Short: "a", Kind: Text, Arg: "name", Default: "auto", Max: path, Scope: Configurable | Server,
			Brief: "what drafts: auto, none, self, ngram, a model",
			Help: "what drafts tokens for the model to verify\n" +
				"auto: the model's own assistant if it is built in; else the published partner of a published model, if " +
				"it is in the cache; else none\n" +
				"none: plain decoding\n" +
				"ngram: what followed the last words where they occurred before; no model\n" +
				"bigram: what most often followed each token before; no model, a baseline\n" +
				"self: the model itself, in --assistant-precision\n" +
				"or the directory of a distilled decoder or a smaller Whisper; one with another vocabulary transcribes " +
				"each sound first"},
		{Name: "draft-from", Kind: Text, Arg: "path", Max: path,
			Brief: "an existing text of the sound",
			Help: "draft from an existing text of the sound: the result is the same, but comes sooner\n" +
				"a transcript by a program or a person: txt, srt, vtt, ass, tsv, csv, lrc, or the json of verity, " +
				"openai-whisper or whisper.cpp\n" +
				"a directory with a transcript of the same name for each sound file, or beside: they lie beside the " +
				"sound files\n" +
				"for a dataset also the directory of records of an earlier eval or compare, or references: its own texts\n" +
				"The assistant drafts where the text has nothing"},
		{Name: "assistant-precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
			Check: checks(ParsePrecision), Scope: Configurable | Server,
			Help: "number format of the assistant's weights: " + precision.Names() + ". auto is int8"},
		{Name: "draft-tokens", Kind: List, Arg: "number", Default: "auto",
			Choices: []string{"auto", "heuristic", "confidence"}, Check: checks(ParseDraft), Scope: Configurable | Server,
			Help: "tokens to draft in a round: a number up to 64, auto (by cost and acceptance), heuristic (2 more after " +
				"success, 1 fewer after failure) or confidence (until the assistant is unsure)"},
		{Name: "sampler", Kind: Choice, Arg: "method", Default: "gumbel", Choices: []string{"gumbel", "rejection"},
			Scope: Configurable,
			Help: "how drafts are verified above temperature 0. gumbel: exactly the text of plain decoding. rejection: the " +
				"same distribution, but another text, which also varies with the draft length"},
		{Name: "measure-alpha",
			Help: "compare the distributions of model and assistant at every drafted token. The statistics then have the " +
				"mean of Σ min(p, q), the acceptance rate α of theory, at the temperature of the window, or 1 where that is 0"},
	}},
	{Serving, []*Option{
		{Name: "listen", Kind: Text, Arg: "address", Default: "127.0.0.1:8000", Max: path, Scope: Server,
			Brief: "host:port (default 127.0.0.1:8000)", Help: "address to listen on, host:port"},
		{Name: "api-key-file", Kind: Text, Arg: "file", Max: path, Scope: Server,
			Brief: "accepted keys, one per line, or none",
			Help: "file of accepted API keys, one per line; empty lines and lines that begin with # are skipped. none " +
				"lets other machines connect without a key"},
		{Name: "origin", Kind: Text, Arg: "origins", Max: prompt, Scope: Server,
			Help: "origins of web pages that may call the server, separated by commas, such as https://example.org, or *"},
		{Name: "alias", Kind: Text, Arg: "names", Max: prompt, Scope: Server,
			Help: "more names of the model in requests, separated by commas, or *. Other forms of its own name and " +
				"OpenAI's names always work"},
		{Name: "tls-cert", Kind: Text, Arg: "file", Max: path, Scope: Server,
			Help: "PEM file with the certificate for https and its key, or CERTIFICATE,KEY for two files; they are read " +
				"again when they change"},
		{Name: "model-memory", Kind: Whole, Arg: "MiB", Max: 1 << 30, Scope: Server,
			Help: "most memory for models that are loaded on first use; the least recently used one makes room. 0 means " +
				"no limit"},
		{Name: "queue", Kind: Whole, Default: "64", Max: 1e5, Scope: Server,
			Help: "how many requests may wait; others are refused and may try again"},
		{Name: "sessions", Kind: Whole, Default: "16", Max: 1e4, Scope: Server,
			Help: "how many realtime sessions may run at the same time"},
		{Name: "max-upload", Kind: Whole, Arg: "MiB", Default: "512", Min: 1, Max: 1 << 20, Scope: Server,
			Help: "largest upload"},
		{Name: "max-audio", Kind: Time, Default: "6h", Above: true, Max: month, Scope: Server,
			Help: "longest sound of a request, and longest realtime session"},
		{Name: "timeout", Kind: Time, Default: "2h", Above: true, Max: month, Scope: Server,
			Help: "longest time for a request"},
		{Name: "grace", Kind: Time, Default: "10m", Max: month, Scope: Server,
			Help: "time that accepted requests have after SIGTERM"},
	}},
	{Report, []*Option{
		{Name: "out", Short: "o", Kind: Text, Arg: "directory", Max: path,
			Brief: "write the records here", Help: "write the records to this directory"},
		{Name: "html", Kind: Text, Arg: "file", Max: path,
			Brief: "write a page",
			Help: "write a page to this file; it needs no network. It contains small recordings (report: only those " +
				"beside it or below) and links to larger ones beside it or below"},
		{Name: "normalizer", Kind: Choice, Arg: "name", Default: "auto",
			Choices: append([]string{"auto"}, normalize.Names()...),
			Help:    "how texts are normalized before scoring: auto, " + show.JoinOr(normalize.Names())},
		{Name: "json", Brief: "write JSON", Help: "write JSON"},
	}},
	{Log, []*Option{
		{Name: "quiet", Short: "q", Scope: Configurable | Server,
			Brief: "only errors on standard error", Help: "write only errors to standard error"},
		{Name: "log-level", Kind: Choice, Arg: "level", Default: "warn",
			Choices: []string{"debug", "info", "warn", "error"}, Scope: Configurable | Server,
			Help: "level of the log: debug (every decision), info, warn or error"},
	}},
}

// formats returns the choices of output-format.
func formats() []string {
	names := []string{"all"}
	for _, f := range transcript.Formats() {
		names = append(names, string(f))
	}
	return names
}
