package cli

import (
	"cmp"
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

// A foreignFlag says what stands here for flags of whisper, whisper.cpp, faster-whisper, whisperX and their servers. Without
// ours, same and advice, they ask for what Verity does anyway.
type foreignFlag struct {
	names  string // as typed there, with hyphens between words
	values string // with which ours holds; * is any; empty for flags that stand alone
	ours   string // flags of ours with that effect; DIRECTORY and NAME are the parts of a VALUE that is a path
	half   int    // ours takes the values of two flags, and this one is the first or the second: see joined
	same   string // our flag that takes all other values as they are, without its hyphens
	advice string // of an error about all other values
}

// foreignFlags is in the order of preference, for flags in several rows. Flags without a use here are not among them, except
// short ones that would be read as one of ours with its value.
var foreignFlags = []foreignFlag{
	// What Verity does anyway.
	{names: "-dev -oved -vm --vad-model --device-index --hf-token --pretty-json", values: "*"},
	{names: "-fa --flash-attn -nfa --no-flash-attn -ng --no-gpu -nt --no-timestamps -sow --split-on-word -sns --suppress-nst --no-align --convert"},
	{names: "-nc --no-context -nlp --no-language-probabilities -pr --print-realtime"},
	{names: "-p --processors", values: "1"},
	{names: "-ml --max-len", values: "0"},
	{names: "--print-colors --live-transcribe", values: "false"},
	{names: "--patience", values: "1 1.0 none"},
	{names: "--beam-size --best-of --language --max-line-width --max-line-count --max-words-per-line", values: "none"},
	{names: "--inference-path", values: "/inference /v1/audio/transcriptions"},

	// Flags of ours that have the effect.
	{names: "-ac --audio-ctx", values: "0", ours: "--audio-context=all", same: "audio-context"},
	{names: "-mc --max-context", values: "0", ours: "--condition-on-previous-text=false"},
	{names: "-ml --max-len", values: "1", ours: "--max-words-per-line=1"},
	{names: "--compute-type", values: "float16", ours: "--precision=f16"},
	{names: "--compute-type", values: "float32", ours: "--precision=f32"},
	{names: "--compute-type", values: "int8 int8_float32 int8_float16 int8_bfloat16", ours: "--precision=int8"},
	{names: "--overwrite -y", ours: "--force"},
	{names: "--json", ours: "--output-format=json"},
	{names: "--srt", ours: "--output-format=srt"},
	{names: "--txt", ours: "--output-format=txt"},
	{names: "--vtt", ours: "--output-format=vtt"},
	{names: "--no-vad --no-vad-filter", ours: "--vad=off"},
	{names: "-pp", ours: "--progress=always"},
	{names: "-di", ours: "--speakers=channels"},
	{names: "--diarize --diarise --tinydiarize -tdrz", ours: "--speakers=voice"},
	{names: "--suppress-numerals", ours: "--suppress-expression=.*[0-9%$£].*"},
	{names: "-tr --translate", ours: "--task=translate"},
	{names: "-nf --no-fallback", ours: "--temperature-increment-on-fallback=none"},
	{names: "-ml --max-len", values: "*", ours: "--max-line-width=VALUE --max-line-count=1"},
	{names: "--output --out", values: "*", ours: "--output-dir=VALUE"},
	{names: "--format", values: "*", ours: "--output-format=VALUE"},
	{names: "-of --output-file", values: "*", ours: "--output-dir=DIRECTORY --name=NAME"},
	{names: "-ot --offset-t", values: "*", ours: "--clip-timestamps", half: 1},
	{names: "-d --duration", values: "*", ours: "--clip-timestamps", half: 2},
	{names: "--host", values: "*", ours: "--listen", half: 1},
	{names: "--port", values: "*", ours: "--listen", half: 2},
	{names: "--min-speakers", values: "*", ours: "--speakers", half: 1},
	{names: "--max-speakers", values: "*", ours: "--speakers", half: 2},

	// Flags of ours for the same values.
	{names: "--batch-size", same: "batch"},
	{names: "--beams --num-beams -bs", same: "beam-size"},
	{names: "-bo", same: "best-of"},
	{names: "--batched", same: "chunked"},
	{names: "--prompt", same: "initial-prompt"},
	{names: "--logprob-thold -lpt", same: "logprob-threshold"},
	{names: "--model-directory", same: "model"},
	{names: "--no-speech-thold -nth", same: "no-speech-threshold"},
	{names: "--local-files-only --model-cache-only", same: "offline"},
	{names: "--to", same: "precision"},
	{names: "--print-progress", same: "progress"},
	{names: "--no-prints -np", same: "quiet"},
	{names: "--num-speakers --speaker-num", same: "speakers"},
	{names: "--suppress-regex", same: "suppress-expression"},
	{names: "-tp", same: "temperature"},
	{names: "-tpi --temperature-inc", values: "0.2 0.20", same: "temperature-increment-on-fallback"},
	{names: "--cpu-threads -t", same: "threads"},
	{names: "--ssl-cert --ssl-certfile", same: "tls-cert"},
	{names: "--vad-filter", same: "vad"},
	{names: "-vsd", same: "vad-min-silence-duration-ms"},
	{names: "--vad-onset -vt", same: "vad-threshold"},

	// No flag of ours. With the values, if there are any, Verity does that anyway.
	{names: "--grammar --grammar-rule", advice: "Verity has no grammars"},
	{names: "--device", values: "cpu auto", advice: "leave it out: Verity computes on processors alone"},
	{names: "-dev --gpu --cuda", advice: "leave it out: Verity computes on processors alone"},
	{names: "--debug-mode -debug -vv", advice: "use --log-level debug"},
	{names: "--verbose", values: "true false", advice: "leave it out: --quiet and --stats say how much is printed"},
	{names: "--fp16", values: "true false", advice: "leave it out"},
	{names: "--suppress-blank", values: "true", advice: "leave it out"},
	{names: "--max-initial-timestamp", values: "1 1.0", advice: "leave it out"},
	{names: "--prompt-reset-on-temperature", values: "0.5", advice: "leave it out"},
	{names: "--vad-method", values: "silero", advice: "leave it out"},
	{names: "--chunk-size", values: "30", advice: "leave it out"},
	{names: "--interpolate-method", values: "nearest", advice: "leave it out"},
	{names: "-wt --word-thold", values: "0.01", advice: "leave it out"},
	{names: "-fp -ls --log-score -on -ps --print-special --return-char-alignments", advice: "leave it out"},
	{names: "--cache-directory --model-dir", advice: "set HF_HUB_CACHE instead"},
	{names: "-et --entropy-thold", values: "2.4 2.40", advice: "use --compression-ratio-threshold"},
	{names: "--processors -p --chunk-length --chunk-length-s", advice: "use --chunked for one long file, --batch for several"},
	{names: "-mc --max-context", values: "-1", advice: "leave it out: context is not limited"},
	{names: "--compute-type", values: "auto default", advice: "leave it out, or use --precision"},
	{names: "--segment-resolution", advice: "use --subtitles"},
	{names: "--vad-max-speech-duration-s --vad-min-speech-duration-ms --vad-offset --vad-samples-overlap --vad-speech-pad-ms -vmsd -vo -vp -vspd",
		advice: "leave it out: only --vad-threshold and --vad-min-silence-duration-ms can be set"},
	{names: "--start --offset --seek -ss", advice: "use --clip-timestamps START,END"},
	{names: "--log-file", advice: "use 2> FILE"},
	{names: "--tls-key --ssl-key --ssl-keyfile", advice: "use --tls-cert CERTIFICATE,KEY"},
	{names: "--input -i", advice: "name the file without a flag"},
	{names: "--align-model -dtw", advice: "use --word-timestamps"},
	{names: "--output-words -owts", advice: "use -f ass --highlight-words"},
	{names: "--detect-language -dl", advice: "use -f json, which has the language"},
	{names: "--print-confidence --print-colors -pc", advice: "use -f json, which has the probabilities"},
	{names: "--live-input-device --live-transcribe --live-volume-threshold", advice: "use verity listen"},
	{names: "--capture", advice: "pipe it in, as arecord -D hw:1 -t raw -fS16_LE -r 16000 | verity listen raw:16000"},
	{names: "--step --length --keep --keep-context -kc", advice: "leave it out: words are confirmed as soon as two passes agree"},
	{names: "--inference-path --request-path --public", advice: "leave it out: paths and the page are fixed"},
	{names: "--tmp-dir", advice: "set TMPDIR instead"},
}

// joined makes the value of our flag from those of two flags of other programs, one of which may be empty.
var joined = map[string]func(first, second string) string{
	"--clip-timestamps": func(offset, duration string) string { // in milliseconds
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
	"--listen": func(host, port string) string {
		return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), cmp.Or(port, "8000"))
	},
	"--speakers": func(least, most string) string {
		return cmp.Or(least, "1") + "-" + cmp.Or(most, strconv.Itoa(diarize.MaxSpeakers))
	},
}

// formatFlags are whisper.cpp's flags for formats. To this program, -osrt would name the output directory "srt".
var formatFlags = map[string]string{
	"-otxt": "txt", "-osrt": "srt", "-ovtt": "vtt", "-olrc": "lrc", "-ocsv": "csv", "-oj": "json", "-ojf": "json", "-ojson": "json",
	"-ojson-full": "json",
}

// foreignByName has the rows of foreignFlags by bareName.
var foreignByName = func() map[string][]foreignFlag {
	rows := map[string][]foreignFlag{}
	for _, row := range foreignFlags {
		for name := range strings.FieldsSeq(row.names) {
			rows[bareName(name)] = append(rows[bareName(name)], row)
		}
	}
	return rows
}()

// bareName returns a flag without its hyphens and without underscores, which it may have as in Python.
func bareName(flag string) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(flag, "-"), "-"), "_", "-")
}

// Translate puts Verity's flags in place of those of other programs among the arguments of a command, and an equals sign
// between a flag that may stand alone and its value.
func Translate(c *cobra.Command, args []string) (out []string) {
	printsText := c.Flags().Lookup("timestamps") != nil && !slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-o") || strings.HasPrefix(arg, "-f") || strings.HasPrefix(arg, "--output")
	})
	halves := map[string][2]string{}
	for len(args) > 0 && args[0] != "--" {
		row, value, n := foreign(c, args)
		switch last := len(out) - 1; {
		case printsText && strings.EqualFold(strings.Join(args[:n], "="), "--verbose=true"): // whisper prints times then
			out = append(out, "--timestamps")
		case row.half > 0:
			both := halves[row.ours]
			both[row.half-1] = value
			halves[row.ours] = both
		case n > 0:
			directory, file := filepath.Split(value)
			values := strings.NewReplacer("VALUE", value, "DIRECTORY", cmp.Or(directory, "."), "NAME", file)
			for flag := range strings.FieldsSeq(row.ours) { // a value may have spaces
				out = append(out, values.Replace(flag))
			}
		case last >= 0 && isValue(c.Flags(), out[last], args[0]):
			out[last] += "=" + args[0]
		default:
			out = append(out, args[0])
		}
		args = args[max(n, 1):]
	}
	for _, flag := range slices.Sorted(maps.Keys(halves)) {
		if flag == "--speakers" { // whisperX's --diarize goes with numbers of speakers
			out = slices.DeleteFunc(out, func(arg string) bool { return arg == "--speakers=voice" })
		}
		out = slices.Insert(out, 1, flag+"="+joined[flag](halves[flag][0], halves[flag][1]))
	}
	return append(out, args...)
}

// foreign returns what stands for the flag of another program that begins args, its value, and how many arguments it replaces:
// none if the argument stays.
func foreign(c *cobra.Command, args []string) (row foreignFlag, value string, n int) {
	flag, value, attached := strings.Cut(args[0], "=")
	if n = 1; !attached && len(args) > 1 {
		value, n = args[1], 2
	}
	isFlag := isReader(c) && strings.HasPrefix(flag, "-")
	for _, row := range foreignByName[bareName(flag)] {
		fits := row.values == "*" || slices.Contains(strings.Fields(row.values), strings.ToLower(value))
		switch {
		case !isFlag || !hasAll(c, row.ours):
		case row.values == "" && row.same+row.advice == "" && !attached:
			return row, "", 1
		case fits && (attached || n == 2):
			return row, value, n
		}
	}
	format := formatFlags[strings.Replace(args[0], "--output-", "-o", 1)]
	f := c.Flags().Lookup("output-format")
	if format != "" && f != nil {
		f.Annotations[AskedKey] = args[:1]
	}
	switch name := strings.TrimLeft(args[0], "-"); {
	case format != "":
		return foreignFlag{ours: "--output-format=" + format}, "", 1
	case (args[0] == "-f" || args[0] == "--file") && c.Name() == "transcribe" && n == 2 && (value == "-" || strings.ContainsAny(value, `./\`)):
		return foreignFlag{}, "", 1 // whisper.cpp names recordings so; a format has none of these
	case isFlag && elsewhere(name) != (foreignFlag{}):
		return foreignFlag{ours: "--" + name}, "", 1 // -fp would be read as -f p
	}
	return foreignFlag{}, "", 0
}

// hasAll reports whether a command has all flags that a text names.
func hasAll(c *cobra.Command, text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" =,:", r) }) {
		name, is := strings.CutPrefix(word, "--")
		if is && c.Flags().Lookup(name) == nil || word == "-f" && c.Flags().ShorthandLookup("f") == nil {
			return false
		}
	}
	return true
}

// elsewhere returns the row with our flag or the advice for a flag of another program; none for a flag without a use here.
func elsewhere(name string) (row foreignFlag) {
	for _, row := range foreignByName[bareName(name)] {
		if row.same+row.advice != "" {
			return row
		}
	}
	return foreignFlag{}
}

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be another program's.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(cmp.Or(elsewhere(name).same, strings.ReplaceAll(name, "_", "-")))
}
