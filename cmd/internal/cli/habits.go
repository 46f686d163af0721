package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/options"
	"verity/internal/input"
)

// Habits are words of openai/whisper's, whisper.cpp's, faster-whisper's and whisper-ctranslate2's
// command lines, a flag or a flag with its value, and ours of equal meaning, which is nothing where
// there is no need of it. What does not begin with a hyphen says what to do instead.
var Habits = map[string]string{
	// Short flags of whisper.cpp.
	"-ac": "--audio-context", "-ac 0": "", "-bo": "--best-of", "-bs": "--beam-size", "-d": "--duration", "-debug": "--debug-mode", "-dev": "--device",
	"-di": "--diarize", "-dl": "--detect-language", "-dtw": "--dtw", "-et": "--entropy-thold", "-fa": "", "-lpt": "--logprob-threshold", "-ls": "--log-score",
	"-mc": "--max-context", "-mc 0": "--condition-on-previous-text=false", "-ml": "--max-len", "-nf": "--temperature-increment-on-fallback none", "-nfa": "", "-ng": "", "-np": "--quiet", "-nt": "",
	"-nth": "--no-speech-threshold", "-ocsv": "-f csv", "-of": "--output-file", "-oj": "-f json", "-ojf": "-f json", "-olrc": "-f lrc", "-on": "--offset-t",
	"-osrt": "-f srt", "-ot": "--offset-t", "-otxt": "-f txt", "-oved": "--device", "-ovtt": "-f vtt", "-owts": "--output-words", "-p": "--processors",
	"-pc": "--print-colors", "-pp": "--progress=always", "-ps": "--print-special", "-sns": "", "-sow": "", "-t": "--threads", "-tdrz": "--diarize",
	"-tp": "--temperature", "-tpi": "--temperature-increment-on-fallback", "-tr": "--task translate", "-vm": "--vad-model", "-vmsd": "--vad-max-speech-duration-s",
	"-vp": "--vad-speech-pad-ms", "-vsd": "--vad-min-silence-duration-ms", "-vspd": "--vad-min-speech-duration-ms", "-vt": "--vad-threshold", "-wt": "--word-thold",

	// Others that newcomers type.
	"-format": "--output-format", "-i": "", "-lang": "--language", "-out": "--output-dir", "-output": "--output-dir", "-v": "--verbose",
	"--audio": "", "--end": seconds, "--host": address, "--input": "", "--port": address, "--srt": "-f srt", "--start": seconds, "--txt": "-f txt", "--vtt": "-f vtt",
	"transcribe --json": "use -f json", "--cpu": "", "--gpu": onCPU, "transcribe --speakers 2": channels,
	"listen --device": "another microphone is arecord -D NAME -t raw -f S16_LE -r 16000 | verity listen raw:16000",

	"--audio-ctx": "--audio-context", "--batched": "--chunked", "--cpu-threads": "--threads", "--file": "", "--flash-attn": "", "--local-files-only": "--offline",
	"--logprob-thold": "--logprob-threshold", "--model-directory": "--model", "--no-fallback": "--temperature-increment-on-fallback none", "--no-flash-attn": "",
	"--no-gpu": "", "--no-prints": "--quiet", "--no-speech-thold": "--no-speech-threshold", "--no-timestamps": "", "--output-csv": "-f csv", "--output-json": "-f json",
	"--output-json-full": "-f json", "--output-lrc": "-f lrc", "--output-srt": "-f srt", "--output-txt": "-f txt", "--output-vtt": "-f vtt",
	"--print-progress": "--progress=always", "--prompt": "--initial-prompt", "--split-on-word": "", "--suppress-nst": "", "--suppress-regex": "--suppress-expression",
	"--temperature-inc": "--temperature-increment-on-fallback", "--translate": "--task translate", "--vad-filter": "--vad",

	"--compute-type int8": "--precision int8", "--compute-type float16": "--precision f16", "--compute-type float32": "--precision f32",
	"--compute-type auto": "", "--compute-type default": "", "--compute-type": "use --precision int8, f16 or f32, which say how weights are held",
	"--device auto": "", "--device cpu": "", "--device": onCPU, "--device-index": onCPU, "--gpu-device": onCPU,
	"--fp16 False": "--precision f32", "--fp16 True": "", "--fp16": "use --precision f16 or f32, which say how weights are held",
	"--verbose False": "--quiet", "--verbose True": "", "--verbose": "use --log-level debug, or --quiet", "--debug-mode": "use --log-level debug",
	"--diarize": channels, "--tinydiarize": channels, "--duration": seconds, "--offset": seconds, "--offset-n": seconds, "--offset-t": seconds,

	"--batch-size":      "use --chunked for parts of one file side by side, --batch NUMBER for files",
	"--detect-language": "without --language it is detected", "--dtw": "use --word-timestamps", "--entropy-thold": "use --compression-ratio-threshold FACTOR",
	"--format": "use --output-format FORMATS", "--grammar": "there are no grammars; --suppress-expression forbids tokens", "--hf-token": "$HF_TOKEN is the token",
	"--list-models": "verity models lists them", "--log-score": "JSON has the log-probability of every segment",
	"--max-context": "use --condition-on-previous-text=false, which shows a window nothing of the text before it", "--max-initial-timestamp": "it is 1 s, as in openai/whisper",
	"--max-len": "use --word-timestamps --max-line-width CHARACTERS", "--model-dir": "$HF_HUB_CACHE names the cache of models",
	"--output-file": "use --output-dir DIRECTORY", "--output-words": "use -f ass --highlight-words", "--print-special": "JSON has the ids of all tokens",
	"--print-colors": "JSON has the probability of every word with --word-timestamps", "--processors": "use --batch NUMBER for files, --chunked for parts of one file",
	"--top-k": "the library has it", "--top-p": "the library has it", "--vad-max-speech-duration-s": "the library has it",
	"--vad-min-speech-duration-ms": "the library has it", "--vad-speech-pad-ms": "the library has it; it is 400",
	"--vad-model": "Silero VAD is part of this program: use --vad", "--word-thold": "words need no threshold, leave it out",
}

const (
	address  = "use --listen HOST:PORT"
	channels = "use --speakers channels if each speaker has a channel; voices are not told apart"
	onCPU    = "Verity computes on the CPU, leave it out"
	seconds  = "use --clip-timestamps START,END in seconds"
)

// commandHabits are words for commands, of people who know another program.
var commandHabits = map[string]string{
	"download": "models pull", "pull": "models pull", "rm": "models rm", "list": "models", "ls": "models",
	"models download": "models pull", "models list": "models", "models ls": "models",
	"translate": "transcribe --task translate", "mic": "listen", "record": "listen", "run": "transcribe", "stream": "listen",
}

// Translated replaces what other programs call otherwise.
func Translated(root *cobra.Command, args []string) (out []string) {
	for n := min(len(args), 2); n > 0; n-- {
		if ours, ok := commandHabits[strings.Join(args[:n], " ")]; ok {
			args = slices.Concat(strings.Fields(ours), args[n:])
			break
		}
	}
	c, _, err := root.Find(args)
	if err != nil || c == root {
		return args
	}
	formats := -1 // where the formats stand that words of habit name
	for len(args) > 0 && args[0] != "--" {
		ours, n := translated(c, args)
		args = args[n:]
		switch isFormat := len(ours) == 2 && ours[0] == "-f" && n < 2; {
		case isFormat && formats >= 0:
			out[formats] += "," + ours[1]
			continue
		case isFormat:
			formats = len(out) + 1
		}
		out = append(out, ours...)
	}
	return append(out, args...)
}

// translated returns what the first of some arguments is here, and how many of them that are.
func translated(c *cobra.Command, args []string) (ours []string, n int) {
	word, value, joined := strings.Cut(args[0], "=")
	n = 1
	if !joined && len(args) > 1 {
		value, n = args[1], 2
	}
	var f *pflag.Flag
	switch {
	case len(word) < 2 || word[0] != '-':
		return args[:1], 1
	case strings.HasPrefix(word, "--"):
		word = string(Dashes(nil, word))
		f = c.Flags().Lookup(word[2:])
	case len(word) == 2:
		f = c.Flags().ShorthandLookup(word[1:])
	case Habits[word] == "" && c.Flags().Lookup(word[1:]) != nil: // -model small
		return append([]string{"-" + args[0]}, args[1:n]...), n
	}
	if f != nil {
		return flagged(f, word, value, joined, args[:n])
	}
	if exact, ok := Habits[word+" "+value]; ok {
		return strings.Fields(exact), n
	}
	meaning, known := Habits[word]
	switch ours = strings.Fields(meaning); {
	case !known || meaning != "" && meaning[0] != '-' && value != "False":
		return args[:1], 1
	case value == "False":
		return nil, n
	case value == "True":
		return ours, n
	case joined:
		return append(ours, value), 1
	}
	return ours, 1
}

// flagged returns a flag of ours that is written as word, with the value behind it, which may
// not be its own: args are both. Python's True and False are taken, and a value that needs an
// equals sign and has none.
func flagged(f *pflag.Flag, word, value string, joined bool, args []string) (ours []string, n int) {
	truth := value == "True" || value == "False"
	switch o := optionOf(f); {
	case f.NoOptDefVal == "true" && truth:
		return []string{word + "=" + strings.ToLower(value)}, len(args)
	case f.Name == "output-format" && isSound(value): // -f FILE, as whisper.cpp has it
		return []string{value}, len(args)
	case f.NoOptDefVal == "":
		return args, len(args)
	case joined && !truth || o == nil || o.Alone == "" || len(args) == 1 && !joined || strings.ContainsAny(value, `-./\`):
		return args[:1], 1
	case value == "True":
		value = o.Alone
	case value == "False":
		value = "off"
	}
	if _, err := os.Stat(value); err == nil && !joined {
		return args[:1], 1
	}
	return []string{word + "=" + value}, len(args)
}

// isSound reports whether a word behind -f is a sound file, and no format.
func isSound(word string) bool {
	if _, err := options.Formats(word); err == nil {
		return false
	}
	info, err := os.Stat(word)
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(word), "."))
	return word == "-" || err == nil && info.Mode().IsRegular() || slices.Contains(input.SoundFiles, ending)
}
