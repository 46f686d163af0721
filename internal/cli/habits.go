package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/options"
)

// habits are words of openai/whisper's, whisper.cpp's, faster-whisper's and
// whisper-ctranslate2's command lines, a flag or a flag with its value, and ours of equal
// meaning. Of what has no equal, command.Foreign says what to do.
var habits = map[string]string{
	"-tr": "--task translate", "--translate": "--task translate", "-t": "--threads", "-pp": "--progress=always", "--print-progress": "--progress=always",
	"-nt": "", "--no-timestamps": "", "-ng": "", "--no-gpu": "", "--vad-filter": "--vad", "--local-files-only": "--offline",
	"-otxt": "-f txt", "-osrt": "-f srt", "-ovtt": "-f vtt", "-olrc": "-f lrc", "-ocsv": "-f csv", "-oj": "-f json",
	"--output-txt": "-f txt", "--output-srt": "-f srt", "--output-vtt": "-f vtt", "--output-lrc": "-f lrc", "--output-csv": "-f csv", "--output-json": "-f json",
	"-of": "--output-file", "-ojf": "-f json", "--output-json-full": "-f json", "-ml": "--max-len", "-np": "--quiet", "--no-prints": "--quiet",

	"--device cpu": "", "--device auto": "", "--fp16 True": "", "--fp16 False": "--precision f32", "--verbose True": "", "--verbose False": "--quiet",
	"--compute-type int8": "--precision int8", "--compute-type float16": "--precision f16", "--compute-type float32": "--precision f32",
	"--compute-type auto": "", "--compute-type default": "", "--vad-filter True": "--vad", "--vad-filter False": "",
}

// chosen is the choice that a word behind a flag names which needs none, as off behind
// --vad, unless a file has that name; empty if it names none.
func chosen(f *pflag.Flag, word string) string {
	o := options.Find(f.Name)
	if o == nil || o.Alone == "" {
		return ""
	}
	switch word {
	case "True":
		word = o.Alone
	case "False":
		word = "off"
	}
	if _, err := os.Stat(word); err == nil || !slices.Contains(o.Choices, word) {
		return ""
	}
	return word
}

// translated replaces what other programs call otherwise.
func translated(root *cobra.Command, args []string) (out []string) {
	switch {
	case len(args) > 1 && (args[0] == "pull" || args[0] == "download"):
		return append([]string{"models", "pull"}, args[1:]...)
	case len(args) == 2 && args[0] == "models" && (args[1] == "list" || args[1] == "ls"):
		return args[:1]
	case len(args) == 0 || args[0] != "transcribe":
		return args
	}
	c, _, err := root.Find(args[:1])
	if err != nil {
		return args
	}
	formats := -1 // where the formats stand that words of habit name
	for i := 0; i < len(args); i++ {
		word, value, joined := strings.Cut(args[i], "=")
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		if strings.HasPrefix(word, "--") {
			word = strings.ReplaceAll(word, "_", "-")
		}
		next := i // the last word that is read
		if !joined && i+1 < len(args) {
			value, next = args[i+1], i+1
		}
		f := c.Flags().Lookup(strings.TrimPrefix(word, "--"))
		if len(word) == 2 && word[0] == '-' && word[1] != '-' {
			f = c.Flags().ShorthandLookup(word[1:])
		}
		ours, equal := habits[word+" "+value]
		if !equal {
			if ours, equal = habits[word]; equal && joined {
				ours += " " + value
			} else if equal {
				next = i
			}
		}
		switch {
		case !strings.HasPrefix(word, "-") || word == "-":
			out = append(out, args[i])
		case f != nil && f.NoOptDefVal == "true" && (value == "True" || value == "False"):
			out, i = append(out, word+"="+strings.ToLower(value)), next
		case f != nil && !joined && chosen(f, value) != "":
			out, i = append(out, word+"="+chosen(f, value)), next
		case f != nil && f.NoOptDefVal == "":
			out, i = append(out, args[i:next+1]...), next
		case f != nil || !equal:
			out = append(out, args[i])
		case strings.HasPrefix(ours, "-f ") && formats >= 0:
			out[formats] += "," + ours[len("-f "):]
		default:
			out, i = slices.Concat(out, strings.Fields(ours)), next
			if strings.HasPrefix(ours, "-f ") {
				formats = len(out) - 1
			}
		}
	}
	return out
}
