package options

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"verity/audio"
	"verity/audio/vad"

	"verity/internal/show"
	"verity/parallel"
	"verity/precision"
	"verity/serve"
	"verity/transcribe"
	"verity/transcript"
	"verity/wer/normalize"
)

// The headings of help.
const (
	Dataset  = "Dataset"
	Runs     = "Runs"
	Input    = "Input"
	Output   = "Output"
	Captions = "Subtitles"
	Model    = "Model"
	Words    = "Text"
	Voice    = "Voice activity"
	Quality  = "Search and thresholds"
	Speed    = "Speed"
	Drafts   = "Drafting (changes only speed, except with --sampler rejection)"
	Serving  = "Serving"
	Report   = "Report"
	Log      = "Log"
)

// Upper bounds that follow from the model or from memory.
const (
	tokens    = 448      // in a window with its prompt, in every published model
	positions = 1500     // of the encoder in a window
	sequences = 64       // of a search; each has its own keys and values
	batch     = 1024     // utterances in progress at the same time
	longest   = 1e6      // seconds of audio: eleven days
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

// Formats of output.
var (
	subtitles = []transcript.Format{transcript.SRT, transcript.VTT, transcript.ASS}
	timed     = slices.DeleteFunc(transcript.Formats(), func(f transcript.Format) bool {
		return slices.Contains([]transcript.Format{transcript.TXT, transcript.MD, transcript.DOCX}, f)
	})
)

// sections are the options in the order of help.
var sections = []struct {
	title   string
	options []*Option
}{
	{Dataset, []*Option{
		{Name: "dataset", Short: "d", Kind: Text, Arg: "path", Max: path,
			Brief: "a directory or manifest",
			Help: "the dataset: a LibriSpeech directory, a JSON Lines, TSV or CSV manifest, Parquet files, or a directory " +
				"with a .txt transcript next to each audio file. manifest.jsonl:test reads only rows whose split is test"},
		{Name: "limit", Kind: Whole, Max: 1e9,
			Brief: "process only the first utterances", Help: "process only the first NUMBER utterances; 0 means all"},
		{Name: "columns", Kind: Text, Arg: "names", Max: line,
			Help: "names of the audio and text fields or columns, such as path,sentence"},
	}},
	{Runs, []*Option{
		{Name: "repeats", Kind: Whole, Max: 1000, Brief: "runs of each utterance in each variant",
			Help: "run each utterance NUMBER times in each variant; 0 means five pairs of runs in all, as far as a minute allows"},
	}},
	{Input, []*Option{
		{Name: "channel", Kind: Whole, Max: 65535, Scope: Configurable,
			Hint: "1 is the left channel, 2 the right",
			Help: "transcribe only channel NUMBER, counting from 1; 0 means the average of all channels"},
		{Name: "audio-track", Kind: Whole, Max: audio.MaxTracks, Scope: Configurable,
			Help: "transcribe only audio track NUMBER, counting from 1; 0 means the one that the file marks as default, or else the first"},
		{Name: "speakers", Kind: List, Arg: "who", Default: "one", Choices: []string{"one", "voice", "channels"},
			Check: checks(Speakers), Needs: "word-timestamps", Implied: "voice",
			Brief: "voice names who speaks; or how many there are",
			Help: "label who speaks: voice tells speakers apart by their voices and finds out how many there are; 3 or 2-4 " +
				"says how many; channels transcribes each channel separately, as for a two-channel call recording, where " +
				"silent channels cost nothing; one labels nobody"},
		{Name: "speaker-names", Kind: Text, Arg: "file", Max: path, Needs: "speakers",
			Brief: "samples of known voices",
			Help: "with --speakers voice: names of known voices; each line is NAME: FILE, a file with a few seconds of that " +
				"voice, relative to this list, or NAME: FILE 1:30-1:45, a part of one. Others stay Speaker 1, 2, …"},
		{Name: "ffmpeg", Kind: Text, Arg: "program", Default: "auto", Max: path, Scope: Configurable | Server,
			Help: "program for formats that Verity does not read itself: auto (the installed ffmpeg), never, or a path"},
		{Name: "strict", Scope: Configurable,
			Help: "treat damaged or missing audio as an error; by default it becomes silence, and a warning says where"},
		{Name: "recursive",
			Brief: "also read subdirectories",
			Help:  "also process audio files in subdirectories"},
		{Name: "files-from", Kind: Text, Arg: "list", Max: path,
			Help: "also process the files that this file names, one per line or as find -print0 writes them, or - for " +
				"standard input; the names are relative to the current directory and are not patterns"},
		{Name: "clip-timestamps", Kind: List, Arg: "times", Default: "0", Check: checks(Spans), Excludes: "vad",
			Scope: Request, Field: "Spans", Set: setSpans, Hint: "60,90 means from 60 s to 90 s",
			Help: "parts to transcribe, in seconds or as 1:02:30: start,end,start,end,… The last end may be omitted"},
	}},
	{Output, []*Option{
		{Name: "output-format", Short: "f", Kind: List, Arg: "formats", Choices: formats(), Check: checkFormats,
			Scope: Configurable, Brief: "txt, lines, md, docx, srt, vtt, ass, tsv, lrc, csv, json, rttm or all",
			Help: "one or more of txt (paragraphs), lines (txt with a line for each segment, as in openai-whisper), md (Markdown), docx (Word), srt, vtt, ass, tsv and csv (times in milliseconds), lrc, json and " +
				"rttm (who speaks when), separated by commas, or all (default txt)"},
		{Name: "output-dir", Short: "o", Kind: Text, Arg: "directory", Max: path, Scope: Configurable,
			Brief: "write files here, not to standard output",
			Help:  "write files to this directory instead of standard output"},
		{Name: "name", Kind: Text, Arg: "pattern", Default: "{name}", Max: 200, Scope: Configurable, Needs: "output-dir",
			Brief: "names of output files",
			Help: "names of the output files. {name} is the name of the audio file, and {language} the language of the text: " +
				"{name}.{language} for film.nl.srt. A single file may have any name"},
		{Name: "force", Needs: "output-dir", Excludes: "skip-existing",
			Brief: "overwrite existing files", Help: "overwrite existing files"},
		{Name: "skip-existing", Needs: "output-dir",
			Brief: "keep existing files; resumes a run",
			Help:  "keep existing files, and skip audio files that already have all their outputs"},
		{Name: "timestamps", Scope: Configurable, Formats: []transcript.Format{transcript.TXT, transcript.MD, transcript.DOCX},
			Brief: "print times before the text",
			Help: "write start and end times before the text of each segment, with --word-timestamps of " +
				"each sentence; in md and docx, the start of each paragraph"},
		{Name: "stats", Scope: Configurable,
			Help: "print statistics for each file to standard error: tokens, drafts, times, memory traffic"},
		{Name: "show-drafts", Kind: Choice, Arg: "when", Default: "never", BareValue: "auto",
			Choices: []string{"auto", "always", "never"}, Scope: Configurable,
			Help: "highlight text drafted by the assistant: auto (on a terminal; also the bare flag), always or never. " +
				"With NO_COLOR it is underlined"},
		{Name: "progress", Kind: Choice, Arg: "when", Default: "auto", BareValue: "always",
			Choices: []string{"auto", "always", "never"}, Scope: Configurable,
			Help: "show progress: auto (a bar on a terminal), always (also the bare flag; a line every ten seconds if not " +
				"on a terminal) or never"},
	}},
	{Captions, []*Option{
		{Name: "word-timestamps", Scope: Configurable | Server, Field: "WordTimestamps", Formats: timed,
			Set:   func(d *Decoding, v Value) { d.WordTimestamps = v.On },
			Brief: "time every word",
			Help:  "time every word in a second pass over the final text; segments then start and end with their words"},
		{Name: "subtitles", Kind: List, Arg: "rules", Default: "off", BareValue: "on",
			Choices: append([]string{"off", "on"}, transcript.Presets()...), Check: checks(Subtitles),
			Scope: Configurable, Needs: "word-timestamps", Excludes: "max-words-per-line", Formats: subtitles,
			Brief: "break at sentences, two lines of 42",
			Help: "format subtitles for reading: break at sentences, clauses and pauses, with two lines of 42 characters, " +
				"each subtitle shown for at least a second and long enough to read 17 characters a second. bbc, netflix and " +
				"ted select the rules of that service. Limits may follow, as in netflix,cps=15,gap=0.1,min=1,max=7: " +
				"characters per second, and seconds between subtitles and that each is shown. The format is srt unless -f " +
				"specifies another"},
		{Name: "max-line-width", Kind: Whole, Arg: "characters", Max: line, Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
			Help: "maximum characters per subtitle line; 0 means no limit"},
		{Name: "max-line-count", Kind: Whole, Arg: "lines", Max: line, Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
			Help: "maximum lines per subtitle; 0 means no limit"},
		{Name: "max-words-per-line", Kind: Whole, Arg: "words", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Formats: subtitles, Excludes: "max-line-width", Help: "maximum words per subtitle; 0 means no limit"},
		{Name: "highlight-words", Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
			Help: "underline each word as it is spoken, in srt, vtt and ass"},
		{Name: "prepend-punctuations", Kind: Text, Arg: "marks", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Default: zero.PrependPunctuations, Field: "PrependPunctuations",
			Set:  func(d *Decoding, v Value) { d.PrependPunctuations = v.Text },
			Help: "punctuation marks that attach to the following word"},
		{Name: "append-punctuations", Kind: Text, Arg: "marks", Max: line, Scope: Configurable, Needs: "word-timestamps",
			Default: zero.AppendPunctuations, Field: "AppendPunctuations",
			Set:  func(d *Decoding, v Value) { d.AppendPunctuations = v.Text },
			Help: "punctuation marks that attach to the preceding word"},
	}},
	{Model, []*Option{
		{Name: "model", Short: "m", Kind: Text, Arg: "name", Max: path, Scope: Configurable | Server, Field: "More",
			Brief: "base (built in), small, …, or a path",
			Help: "base, which is built in; the name of another published model, such as small or openai/whisper-small, " +
				"downloaded if it is not in the cache; or the path of a checkpoint: a Hugging Face or CTranslate2 " +
				"directory, an openai/whisper .pt file, or a whisper.cpp ggml file"},
		{Name: "language", Short: "l", Kind: Text, Arg: "language", Default: "auto", Max: 64, Check: checkLanguage,
			Scope: anywhere, Field: "Language", Set: setLanguage,
			Brief: "such as en or English; detected by default",
			Help: "spoken language, such as en or English; a list, such as en,de, to choose the likeliest of them; auto " +
				"detects it"},
		{Name: "multilingual", Scope: Configurable, Field: "Multilingual",
			Set:  func(d *Decoding, v Value) { d.Multilingual = v.On },
			Help: "detect the language of every window; JSON reports it for each segment"},
		{Name: "task", Kind: Choice, Arg: "task", Default: string(zero.Task), Choices: []string{"transcribe", "translate"},
			Scope: Configurable, Field: "Task", Set: func(d *Decoding, v Value) { d.Task = transcribe.Task(v.Text) },
			Brief: "transcribe, or translate to English", Help: "transcribe, or translate to English"},
		{Name: "offline", Scope: Configurable | Server,
			Help: "download nothing, neither audio nor models; models come from the cache, as with HF_HUB_OFFLINE=1"},
	}},
	{Words, []*Option{
		{Name: "initial-prompt", Kind: Text, Max: prompt, Scope: anywhere, Field: "InitialPrompt",
			Set:  func(d *Decoding, v Value) { d.InitialPrompt = v.Text },
			Help: "text that precedes the first window, to suggest names, spelling and style"},
		{Name: "carry-initial-prompt", Scope: anywhere, Needs: "initial-prompt", Field: "CarryInitialPrompt",
			Set:  func(d *Decoding, v Value) { d.CarryInitialPrompt = v.On },
			Help: "use the initial prompt for every window"},
		{Name: "hotwords", Hidden: true, Kind: Text, Max: prompt, Scope: anywhere, Excludes: "terms", Field: "Hotwords",
			Set:  func(d *Decoding, v Value) { d.Hotwords = v.Text },
			Help: "likely names and terms, shown to the model before the previous text in every window"},
		{Name: "terms", Kind: Text, Arg: "file", Max: path, Check: checks(readTerms), Scope: Configurable | Server,
			Field: "Terms", Set: func(d *Decoding, v Value) { d.Terms, _ = readTerms(v.Text) },
			Brief: "a list of names and terms",
			Help: "file of names and terms that are likely to occur, one per line: they become likelier. Name:2 doubles the " +
				"weight of one; cooper netties => Kubernetes also replaces what the model writes in its place"},
		{Name: "prefix", Kind: Text, Max: prompt, Field: "Prefix",
			Set:  func(d *Decoding, v Value) { d.Prefix = v.Text },
			Help: "beginning of the first window's text; decoding continues from it, and the output omits it"},
		{Name: "condition-on-previous-text", Default: "true", Scope: anywhere, Field: "ForgetPrevious",
			Set:  func(d *Decoding, v Value) { d.ForgetPrevious = !v.On },
			Help: "prompt each window with the text before it"},
		{Name: "without-timestamps", Scope: Configurable, Field: "WithoutTimestamps",
			Set:  func(d *Decoding, v Value) { d.WithoutTimestamps = v.On },
			Help: "decode text without timestamps; each window becomes one segment"},
		{Name: "suppress-tokens", Kind: List, Arg: "ids", Default: "auto", Check: checks(tokenIDs), Scope: Configurable,
			Field: "SuppressTokens", Set: setTokens,
			Help: "token ids that are never chosen, separated by commas; -1 means symbols that are not spoken, auto the " +
				"model's own list"},
		{Name: "suppress-expression", Kind: Text, Arg: "expression", Max: path, Check: checks(expression),
			Scope: Configurable, Field: "SuppressExpression", Set: setExpression,
			Help: "never choose tokens that this regular expression matches in full, leading space included. For example, " +
				"' ?[0-9]+' makes the model spell out numbers"},
		{Name: "audio-context", Kind: List, Arg: "positions", Default: "all", Choices: []string{"all", "fit"},
			Check: checkContext, Scope: Configurable, Field: "AudioContext", Set: setContext,
			Help: "encoder positions per window, 20 ms each, up to 1500; or fit: as many as a short file needs. Faster " +
				"for short files, but the text may differ because models were trained on 30 s"},
		{Name: "pad", Kind: Choice, Arg: "kind", Default: "audio", Choices: []string{"audio", "mel"}, Scope: Configurable,
			Field: "Pad", Set: setPad,
			Help: "padding after the end of the audio in a window: audio (silence, as in training) or mel (zeros, as in " +
				"openai-whisper; add --strategy upstream for the same text)"},
	}},
	{Voice, []*Option{ // names and defaults of faster-whisper
		{Name: "vad", Kind: Choice, Arg: "when", Default: "auto", BareValue: "on", Choices: []string{"auto", "on", "off"},
			Scope: Configurable | Server, Field: "VAD",
			Set:   func(d *Decoding, v Value) { d.vadOn, d.SkipSpeechCheck = v.Text == "on", v.Text == "off" },
			Brief: "skip everything that is not speech",
			Help: "voice activity detection (Silero VAD). on, or the bare flag: detect speech first and skip the rest; " +
				"times remain those of the file. auto: check only windows with low model confidence, and omit text where " +
				"there is no speech. off: no check"},
		{Name: "vad-threshold", Kind: Real, Arg: "probability", Default: fmt.Sprint(vad.DefaultThreshold), Above: true, Max: 1,
			Scope: Configurable | Server, Needs: "vad",
			Set:  func(d *Decoding, v Value) { d.vad.Threshold = v.Number },
			Help: "probability at which a 32 ms frame starts speech"},
		{Name: "vad-min-silence-duration-ms", Kind: Whole, Arg: "ms", Default: strconv.Itoa(vad.DefaultMinSilenceDurationMS), Max: hour,
			Scope: Configurable | Server, Needs: "vad",
			Set:  func(d *Decoding, v Value) { d.vad.MinSilenceDurationMS = v.OrNone() },
			Help: "minimum silence that ends speech"},
	}},
	{Quality, []*Option{
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
		{Name: "beam-size", Kind: Whole, Max: sequences, Scope: anywhere, Field: "BeamSize",
			Set:  func(d *Decoding, v Value) { d.BeamSize = int(v.Number) },
			Help: "beam search width at temperature 0, which disables the assistant; 0 or 1 means greedy decoding"},
		{Name: "patience", Kind: Real, Arg: "factor", Max: sequences, Scope: Configurable, Needs: "beam-size",
			Field: "Patience", Set: func(d *Decoding, v Value) { d.Patience = v.Number },
			Help: "end beam search when FACTOR times --beam-size sequences are complete; 0 means 1"},
		{Name: "best-of", Kind: Whole, Max: sequences, Scope: anywhere, Field: "BestOf",
			Set:  func(d *Decoding, v Value) { d.BestOf = int(v.Number) },
			Help: "above temperature 0, sample NUMBER sequences and choose the best; 0 means 1"},
		{Name: "length-penalty", Kind: Real, Arg: "alpha", Default: "none", None: true, Max: 1, Scope: Configurable,
			Field: "LengthPenalty", Set: setPenalty,
			Help: "rank sequences with the length penalty ((5+tokens)/6)^ALPHA; none uses mean log-probabilities"},
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
			Max: longest, Scope: Configurable, Needs: "word-timestamps", Field: "HallucinationSilence",
			Set:  func(d *Decoding, v Value) { d.HallucinationSilence = v.or(0) },
			Help: "skip silence longer than this around likely hallucinations"},
		{Name: "repetition-penalty", Kind: Real, Arg: "factor", Max: 1000, Scope: Configurable,
			Field: "Repetition.Penalty", Set: setRepetition,
			Help: "make tokens that occurred earlier, including in the prompt, less likely by FACTOR; 0 or 1 means no " +
				"penalty"},
		{Name: "no-repeat-ngram-size", Kind: Whole, Arg: "length", Max: tokens, Scope: Configurable,
			Field: "Repetition.NoRepeat", Set: func(d *Decoding, v Value) { d.Repetition.NoRepeat = int(v.Number) },
			Help: "never repeat a sequence of LENGTH tokens within a window and its prompt; 0 means no limit"},
		{Name: "top-k", Kind: Whole, Max: 1024, Scope: Configurable,
			Field: "TopK", Set: func(d *Decoding, v Value) { d.TopK = int(v.Number) },
			Help: "above temperature 0, choose only from the NUMBER likeliest tokens; 0 means all"},
		{Name: "top-p", Kind: Real, Arg: "probability", Max: 1, Scope: Configurable,
			Field: "TopP", Set: func(d *Decoding, v Value) { d.TopP = float32(v.Number) },
			Help: "above temperature 0, choose only from the likeliest tokens that together have this PROBABILITY; 0 means " +
				"all"},
		{Name: "seed", Kind: Unsigned, Scope: Configurable, Field: "Seed", Set: setSeed,
			Help: "random seed for sampling above temperature 0"},
	}},
	{Speed, []*Option{
		{Name: "threads", Kind: Whole, Max: parallel.MaxThreads, Scope: Configurable | Server,
			Brief: "0 means one per fast core",
			Help:  "number of threads; 0 means one per fast core. The text does not depend on it"},
		{Name: "precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
			Check: checks(ParsePrecision), Scope: Configurable | Server, Brief: "auto, f32, f16, int8, …",
			Help: "number format of the weights: " + precision.Names() + ". auto is f16 if it represents " +
				"every weight exactly, otherwise f32; quantized weights keep their format. Append :cache=FORMAT for the " +
				"attention cache"},
		{Name: "batch", Kind: Whole, Default: "1", Min: 1, Max: batch, Scope: Configurable,
			Brief: "files to transcribe at the same time",
			Help: "transcribe NUMBER files at the same time. They share every pass over the weights; each needs its own " +
				"memory. The text does not depend on it"},
		{Name: "chunked", Scope: Configurable, Field: "Chunked",
			Set:   func(d *Decoding, v Value) { d.Chunked = v.On },
			Brief: "decode parts of a file at the same time",
			Help: "split each file at quiet points and decode several parts at the same time; faster for files of three " +
				"minutes or more"},
	}},
	{Drafts, []*Option{
		{Name: "assistant", Short: "a", Kind: Text, Arg: "name", Default: "auto", Max: path, Scope: Configurable | Server,
			Brief: "source of drafts: auto, none, encoder, a path",
			Help: "source of the draft tokens that the model verifies\n" +
				"auto: the model's own assistant if built in; otherwise, for a published model, its published assistant if " +
				"cached; otherwise encoder\n" +
				"none: plain decoding\n" +
				"encoder: text that a small network reads from the encoder's output, in English, German and Dutch; for models " +
				"with base's encoder. Other models also run the built-in base's encoder for it (auto: " +
				"medium and larger)\n" +
				"ngram: the tokens that followed the most recent words where they occurred earlier; no model\n" +
				"bigram: the token that most often followed each token earlier; no model, a baseline\n" +
				"self: the model itself, in --assistant-precision\n" +
				"or the directory of a distilled decoder or a smaller Whisper model; one with a different vocabulary " +
				"transcribes each input first, and its transcript becomes the draft"},
		{Name: "draft-from", Kind: Text, Arg: "path", Max: path,
			Brief: "an existing transcript of the audio",
			Help: "draft from an existing transcript of the audio: the result is the same, but sooner\n" +
				"a transcript by a program or a person: txt, srt, vtt, or json from verity, " +
				"openai-whisper or whisper.cpp\n" +
				"a directory with a transcript of the same name for each audio file, or beside: next to the audio files\n" +
				"for a dataset, also the records directory of an earlier eval or compare, or references: the dataset's own " +
				"texts\n" +
				"The assistant drafts where the transcript offers nothing"},
		{Name: "assistant-precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
			Check: checks(ParsePrecision), Scope: Configurable | Server,
			Help: "number format of the assistant's weights: " + precision.Names() + ". auto is int8"},
		{Name: "draft-tokens", Kind: List, Arg: "number", Default: "auto",
			Choices: []string{"auto", "heuristic", "confidence"}, Check: checks(ParseDraft), Scope: Configurable | Server,
			Help: "tokens to draft per round: a number up to 64, auto (by cost and acceptance rate), heuristic (2 more " +
				"after success, 1 fewer after failure) or confidence (until the assistant is unsure)"},
		{Name: "sampler", Kind: Choice, Arg: "method", Default: "gumbel", Choices: []string{"gumbel", "rejection"},
			Scope: Configurable,
			Help: "how drafts are verified above temperature 0. gumbel: exactly the text of plain decoding. rejection: the " +
				"same distribution, but different text, which also depends on the draft length"},
		{Name: "measure-alpha",
			Help: "compare the model's and assistant's distributions at every drafted token. Statistics then include the " +
				"mean of Σ min(p, q), the theoretical acceptance rate α, at the window's temperature, or 1 if that is 0"},
	}},
	{Serving, []*Option{
		{Name: "listen", Kind: Text, Arg: "address", Default: "127.0.0.1:8000", Max: path, Scope: Server,
			Brief: "host:port (default 127.0.0.1:8000)",
			Help:  "address to listen on: host:port, or unix:PATH for a unix socket"},
		{Name: "wyoming", Kind: Text, Arg: "address", Max: path, Scope: Server,
			Help: "also serve the Wyoming protocol of Home Assistant on this address, such as :10300. The protocol has no keys"},
		{Name: "metrics", Kind: Text, Arg: "address", Max: path, Scope: Server,
			Help: "serve /metrics on this address instead, such as 127.0.0.1:9000. It needs no key"},
		{Name: "check", Scope: Server, Help: "check the options, keys, certificate and model, and exit"},
		{Name: "api-key-file", Kind: Text, Arg: "file", Max: path, Scope: Server,
			Brief: "accepted keys, one per line, or none",
			Help: "file of accepted API keys, one per line, with a name for the log after a space and #; empty lines and " +
				"lines that begin with # are ignored. none lets other machines connect without a key"},
		{Name: "origin", Kind: Text, Arg: "origins", Max: prompt, Scope: Server, Field: "Origins",
			Help: "origins of web pages that may call the server, separated by commas: https://example.org, " +
				"https://*.example.org for all its hosts, desktop for desktop programs such as Obsidian, or *"},
		{Name: "tls-cert", Kind: Text, Arg: "file", Max: path, Scope: Server,
			Help: "PEM file with the HTTPS certificate and its key, or CERTIFICATE,KEY for two files; they are reloaded " +
				"when they change"},
		{Name: "queue", Kind: Whole, Default: strconv.Itoa(serve.DefaultWaiting), Max: 1e5, Scope: Server,
			Help: "maximum requests waiting; others are rejected and may be retried"},
		{Name: "max-upload", Kind: Whole, Arg: "MiB", Default: strconv.Itoa(serve.DefaultMaxBytes >> 20), Min: 1, Max: 1 << 20, Scope: Server,
			Help: "maximum upload size"},
		{Name: "max-audio", Kind: Time, Default: duration(serve.DefaultMaxAudio), Above: true, Max: month, Scope: Server,
			Help: "maximum audio length per request, and maximum length of a realtime session"},
		{Name: "timeout", Kind: Time, Default: duration(serve.DefaultTimeout), Above: true, Max: month, Scope: Server,
			Help: "maximum time for a request"},
	}},
	{Report, []*Option{
		{Name: "out", Short: "o", Kind: Text, Arg: "directory", Max: path,
			Brief: "write records here", Help: "write records to this directory"},
		{Name: "html", Kind: Text, Arg: "file", Max: path,
			Brief: "write an HTML page",
			Help: "write an HTML page to this file; it works offline. It embeds small recordings (report: only those in " +
				"the page's directory or below) and links to larger ones in that directory or below"},
		{Name: "normalizer", Kind: Choice, Arg: "name", Default: "auto",
			Choices: append([]string{"auto"}, normalize.Names()...),
			Help:    "text normalization before scoring: auto, " + show.JoinOr(normalize.Names())},
		{Name: "by", Kind: Text, Arg: "field", Max: line,
			Help: "also score the utterances of each value of a field of the manifest, such as lang, tag or speaker; language is " +
				"the detected one where the manifest has none"},
		{Name: "json", Brief: "write JSON", Help: "write JSON"},
	}},
	{Log, []*Option{
		{Name: "quiet", Short: "q", Scope: Configurable | Server,
			Brief: "only errors on standard error", Help: "write only errors to standard error"},
		{Name: "log-level", Kind: Choice, Arg: "level", Default: "warn",
			Choices: []string{"debug", "info", "warn", "error"}, Scope: Configurable | Server,
			Help: "log level: debug (every decision), info, warn or error"},
		{Name: "log-format", Kind: Choice, Arg: "format", Default: "auto", Choices: []string{"auto", "text", "json"},
			Scope: Configurable | Server, Help: "log format: text (key=value), json (one object per line), or auto: sentences, " +
				"but text for serve and for the levels info and debug"},
	}},
}

// duration writes a whole number of hours.
func duration(d time.Duration) string { return strconv.Itoa(int(d.Hours())) + "h" }

// formats returns the choices of output-format.
func formats() []string {
	names := []string{"all"}
	for _, f := range transcript.Formats() {
		names = append(names, string(f))
	}
	return slices.Insert(names, 2, string(Lines)) // after txt
}
