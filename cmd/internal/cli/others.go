package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/diarize"
)

// Translate puts Verity's flags in place of those of other programs among the arguments of a command, and an equals sign
// between a flag that may stand alone and its value.
func Translate(c *cobra.Command, args []string) (out []string) {
	format := c.Flags().Lookup("output-format")
	isOutput := func(arg string) bool {
		return strings.HasPrefix(arg, "-o") || strings.HasPrefix(arg, "-f") || strings.HasPrefix(arg, "--output")
	}
	printsText := c.Flags().Lookup("timestamps") != nil && !slices.ContainsFunc(args, isOutput)
	for len(args) > 0 && args[0] != "--" {
		if formatOf(args[0]) != "" && format != nil {
			format.Annotations[AskedKey] = args[:1]
		}
		ours, n := translated(c, args)
		switch last := len(out) - 1; {
		case printsText && strings.EqualFold(strings.Join(args[:n], "="), "--verbose=true"): // whisper prints times then
			out = append(out, "--timestamps")
		case n > 0:
			out = append(out, ours...)
		case last >= 0 && isValue(c.Flags(), out[last], args[0]):
			out[last] += "=" + args[0]
		default:
			out = append(out, args[0])
		}
		args = args[max(n, 1):]
	}
	if out = append(out, args...); isReader(c) {
		out = join(out)
	}
	return out
}

// translated returns what stands for the argument that begins args, and how many it replaces: none if it stays. Flags of other
// programs that have no equivalent get two hyphens, since -fp would be read as -f p.
func translated(c *cobra.Command, args []string) (ours []string, n int) {
	reads, name := isReader(c), strings.TrimLeft(args[0], "-")
	if ours, n = equivalent(c, args); n > 0 && reads {
		return ours, n
	}
	here, _ := elsewhere(name)
	switch {
	case (args[0] == "-f" || args[0] == "--file") && c.Name() == "transcribe" && len(args) > 1 && isSound(args[1]):
		return nil, 1 // whisper.cpp names recordings so
	case formatOf(args[0]) != "":
		return []string{"--output-format=" + formatOf(args[0])}, 1
	case here != "" && args[0][0] == '-' && reads:
		return []string{"--" + name}, 1
	}
	return nil, 0
}

// formatOf returns the format that one of formatFlags asks for.
func formatOf(arg string) string { return formatFlags[strings.Replace(arg, "--output-", "-o", 1)] }

// formatFlags are whisper.cpp's flags for formats. To this program, -osrt would name the output directory "srt".
var formatFlags = map[string]string{
	"-otxt": "txt", "-osrt": "srt", "-ovtt": "vtt", "-olrc": "lrc", "-ocsv": "csv", "-oj": "json", "-ojf": "json", "-ojson": "json",
	"-ojson-full": "json",
}

// isSound reports whether the value of -f is the path of a recording. A format is none, whatever directories there are.
func isSound(value string) bool { return value == "-" || strings.ContainsAny(value, `./\`) }

// others are flags of whisper, whisper.cpp, faster-whisper, whisperX and their servers, alone or with a value (* is any), under
// what stands for them here: our flags, which begin with hyphens (DIRECTORY and NAME are the parts of a path; for [0] and [1], see
// pairs); nothing, if they ask for what Verity does anyway; a flag that takes the same values; or what an error advises. Flags
// without a use here are not among them, except short ones that would be read as one of ours with its value.
var others = byName(map[string]string{
	"": "-dev=* -fa flash-attn -nfa no-flash-attn -ng no-gpu -oved=* -p=1 processors=1 -nt no-timestamps -sow split-on-word -sns suppress-nst " +
		"-vm=* vad-model=* -mc=-1 max-context=-1 -ml=0 max-len=0 device=cpu device=auto device-index=* fp16=true fp16=false hf-token=* " +
		"compute-type=auto compute-type=default verbose=true verbose=false print-colors=false pretty-json=* live-transcribe=false " +
		"vad-method=silero chunk-size=30 interpolate-method=nearest no-align suppress-blank=true max-initial-timestamp=1 " +
		"max-initial-timestamp=1.0 prompt-reset-on-temperature=0.5 patience=1 patience=1.0 patience=none beam-size=none best-of=none " +
		"language=none max-line-width=none max-line-count=none max-words-per-line=none " +
		"-et=2.4 -et=2.40 entropy-thold=2.4 entropy-thold=2.40 -wt=0.01 word-thold=0.01 " +
		"convert -nc no-context -nlp no-language-probabilities inference-path=/inference inference-path=/v1/audio/transcriptions " +
		"-tpi=0.2 -tpi=0.20 temperature-inc=0.2 temperature-inc=0.20 -pr print-realtime",

	"--audio-context=all":                      "-ac=0 audio-ctx=0",
	"--clip-timestamps[0]=*":                   "-ot=* offset-t=*",
	"--clip-timestamps[1]=*":                   "-d=* duration=*",
	"--condition-on-previous-text=false":       "-mc=0 max-context=0",
	"--listen[0]=*":                            "host=*",
	"--listen[1]=*":                            "port=*",
	"--max-line-width=* --max-line-count=1":    "-ml=* max-len=*",
	"--max-words-per-line=1":                   "-ml=1 max-len=1",
	"--precision=f16":                          "compute-type=float16",
	"--precision=f32":                          "compute-type=float32",
	"--precision=int8":                         "compute-type=int8 compute-type=int8_float32 compute-type=int8_float16 compute-type=int8_bfloat16",
	"--force":                                  "overwrite -y",
	"--output-dir=*":                           "output=* out=*",
	"--output-format=*":                        "format=*",
	"--output-format=json":                     "json",
	"--output-format=srt":                      "srt",
	"--output-format=txt":                      "txt",
	"--output-format=vtt":                      "vtt",
	"--vad=off":                                "no-vad no-vad-filter",
	"--output-dir=DIRECTORY --name=NAME":       "-of=* output-file=*",
	"--progress=always":                        "-pp",
	"--speakers[0]=*":                          "min-speakers=*",
	"--speakers[1]=*":                          "max-speakers=*",
	"--speakers=channels":                      "-di",
	"--speakers=voice":                         "diarize diarise tinydiarize -tdrz",
	"--suppress-expression=.*[0-9%$£].*":       "suppress-numerals",
	"--task=translate":                         "-tr translate",
	"--temperature-increment-on-fallback=none": "-nf no-fallback",

	"audio-context": "audio-ctx -ac", "batch": "batch-size", "beam-size": "beams num-beams -bs", "best-of": "-bo", "chunked": "batched",
	"initial-prompt": "prompt", "logprob-threshold": "logprob-thold -lpt", "model": "model-directory",
	"no-speech-threshold": "no-speech-thold -nth", "offline": "local-files-only model-cache-only", "precision": "to",
	"progress": "print-progress", "quiet": "no-prints -np", "speakers": "num-speakers speaker-num",
	"suppress-expression": "suppress-regex", "temperature": "-tp", "temperature-increment-on-fallback": "temperature-inc -tpi",
	"threads": "cpu-threads -t", "tls-cert": "ssl-cert ssl-certfile", "vad": "vad-filter", "vad-min-silence-duration-ms": "-vsd", "vad-threshold": "vad-onset -vt",

	"Verity has no grammars": "grammar grammar-rule", "leave it out: Verity computes on processors alone": "device -dev gpu cuda",
	"use --log-level debug": "debug debug-mode -debug -vv", "leave it out: --quiet and --stats say how much is printed": "verbose",
	"leave it out": "fp16 -fp -ls log-score -on -ps print-special -wt word-thold suppress-blank max-initial-timestamp " +
		"prompt-reset-on-temperature chunk-size vad-method interpolate-method return-char-alignments",
	"set HF_HUB_CACHE instead": "cache-directory model-dir", "use --compression-ratio-threshold": "entropy-thold -et",
	"use --chunked for one long file, --batch for several": "processors -p chunk-length chunk-length-s",
	"leave it out: context is not limited":                 "max-context -mc",
	"leave it out, or use --precision":                     "compute-type",
	"use --subtitles":                                      "segment-resolution",
	"leave it out: only --vad-threshold and --vad-min-silence-duration-ms can be set": "vad-max-speech-duration-s vad-min-speech-duration-ms " +
		"vad-offset vad-samples-overlap vad-speech-pad-ms -vmsd -vo -vp -vspd",
	"use --clip-timestamps START,END": "start offset seek -ss", "use 2> FILE": "log-file", "use --tls-cert CERTIFICATE,KEY": "tls-key ssl-key ssl-keyfile", "name the file without a flag": "input -i",
	"use --word-timestamps": "align-model -dtw", "use -f ass --highlight-words": "output-words -owts",
	"use -f json, which has the language": "detect-language -dl", "use -f json, which has the probabilities": "print-confidence print-colors -pc",
	"use verity listen": "live-input-device live-transcribe live-volume-threshold",
	"pipe it in, as arecord -D hw:1 -t raw -fS16_LE -r 16000 | verity listen raw:16000": "capture",
	"leave it out: words are confirmed as soon as two passes agree":                     "step length keep keep-context -kc",
	"leave it out: paths and the page are fixed":                                        "inference-path request-path public", "set TMPDIR instead": "tmp-dir",
})

// byName turns a table of names around: from each name to its row.
func byName(table map[string]string) map[string]string {
	rows := map[string]string{}
	for row, names := range table {
		for name := range strings.FieldsSeq(names) {
			rows[name] = row
		}
	}
	return rows
}

// isOurs reports whether a row of others consists of our flags, or of none.
func isOurs(row string) bool { return row == "" || strings.HasPrefix(row, "--") }

// equivalent returns what has the effect of the flag of another program that begins args, and of how many of them it
// consists: none if that is no such flag, or if a command has no flag for it.
func equivalent(c *cobra.Command, args []string) (ours []string, n int) {
	name, value, attached := strings.Cut(args[0], "=")
	short, is := strings.CutPrefix(name, "-")
	name = strings.ReplaceAll(strings.TrimPrefix(short, "-"), "_", "-")
	if n = 1; !attached && len(args) > 1 {
		value, n = args[1], 2
	}
	for _, name := range []string{"-" + name, name} {
		for _, key := range []string{name + "=" + strings.ToLower(value), name + "=*", name} {
			text, known := others[key]
			switch {
			case !is || !known || !isOurs(text) || !hasAll(c, text) || key == name && attached || key != name && !attached && n == 1:
			case key == name:
				return strings.Fields(text), 1
			default:
				directory, file := filepath.Split(value)
				values := strings.NewReplacer("*", value, "DIRECTORY", cmp.Or(directory, "."), "NAME", file)
				for _, flag := range strings.Fields(text) { // a value may have spaces
					ours = append(ours, values.Replace(flag))
				}
				return ours, n
			}
		}
	}
	return nil, 0
}

// hasAll reports whether a command has all flags that a row of others names.
func hasAll(c *cobra.Command, row string) bool {
	for word := range strings.FieldsSeq(row) {
		name, is := strings.CutPrefix(word, "--")
		if end := strings.IndexAny(name, "=[,:"); end >= 0 {
			name = name[:end]
		}
		if (is || name == row) && c.Flags().Lookup(name) == nil || word == "-f" && c.Flags().ShorthandLookup("f") == nil {
			return false
		}
	}
	return true
}

// pairs make one value of two flags of other programs, which may be empty.
var pairs = map[string]func(first, second string) string{
	"clip-timestamps": func(offset, duration string) string { // in milliseconds
		from, err := strconv.ParseFloat(cmp.Or(offset, "0"), 64)
		length, err2 := strconv.ParseFloat(cmp.Or(duration, "0"), 64)
		switch {
		case cmp.Or(err, err2) != nil:
			return offset + "," + duration // an error of this flag
		case length == 0:
			return number(from / 1000)
		}
		return number(from/1000) + "," + number((from+length)/1000)
	},
	"listen": func(host, port string) string {
		return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), cmp.Or(port, "8000"))
	},
	"speakers": func(least, most string) string {
		return cmp.Or(least, "1") + "-" + cmp.Or(most, strconv.Itoa(diarize.MaxSpeakers))
	},
}

// join joins the pairs among the arguments of a command as equivalent returns them. whisperX's --diarize goes with its numbers.
func join(args []string) []string {
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		var values [2]string
		rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
			flag, value, _ := strings.Cut(arg, "=")
			for i := range values {
				if flag == fmt.Sprintf("--%s[%d]", name, i) {
					values[i] = value
					return true
				}
			}
			return arg == "--speakers=voice" && name == "speakers"
		})
		if values != [2]string{} {
			args = slices.Insert(rest, 1, "--"+name+"="+pairs[name](values[0], values[1]))
		}
	}
	return args
}

// elsewhere returns what stands here for the flag of another program, and the flag as that program has it. It is empty for
// a flag without a use here.
func elsewhere(name string) (here, typed string) {
	typed, name = "--"+name, strings.ReplaceAll(name, "_", "-")
	if here = others["-"+name]; !isOurs(here) {
		return here, "-" + name
	}
	if here = others[name]; isOurs(here) {
		here = ""
	}
	return here, typed
}

// accepted returns the values of another program's flag that others has.
func accepted(name string) (values []string) {
	name = strings.ReplaceAll(name, "_", "-")
	for key := range others {
		flag, value, _ := strings.Cut(key, "=")
		if (flag == name || flag == "-"+name) && value != "" && value != "*" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be another program's.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if here, _ := elsewhere(name); here != "" && !strings.Contains(here, " ") {
		name = here
	}
	return pflag.NormalizedName(name)
}
