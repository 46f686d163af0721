package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/diarize"
	"verity/internal/show"
	"verity/wer"
)

// An OptionFlag is an option as a pflag.Value.
type OptionFlag struct {
	O    *Option
	text string
	set  func(Value) error
}

func (f *OptionFlag) String() string { return f.text }

func (f *OptionFlag) Set(text string) error {
	v, err := f.O.Parse(text)
	if err == nil {
		err = f.set(v)
	}
	if err == nil {
		f.text = v.Text
	}
	return err
}

// Type names the value in help.
func (f *OptionFlag) Type() string {
	switch {
	case f.O.Kind == Switch:
		return "bool"
	case f.O.Arg != "":
		return f.O.Arg
	case f.O.Kind == Whole || f.O.Kind == Unsigned || f.O.Kind == Real:
		return "number"
	case f.O.Kind == Time:
		return "time"
	}
	return "text"
}

// optionOf returns the option of a flag, or nil if it is not in the table.
func optionOf(f *pflag.Flag) *Option {
	if f, ok := f.Value.(*OptionFlag); ok {
		return f.O
	}
	return nil
}

// IsValue reports whether the argument after a flag that may stand alone is its value: it would be a valid one, and no
// file has that name.
func IsValue(flags *pflag.FlagSet, flag, arg string) bool {
	name, long := strings.CutPrefix(flag, "--")
	f := flags.Lookup(name)
	if !long || f == nil || f.NoOptDefVal == "" || optionOf(f) == nil {
		return false
	}
	_, invalid := optionOf(f).Parse(arg)
	_, err := os.Stat(arg)
	return invalid == nil && err != nil
}

// NewFlag returns the flag of an option. Its values are passed to set.
func NewFlag(o *Option, set func(Value) error) *pflag.Flag {
	f := &pflag.Flag{
		Name: o.Name, Shorthand: o.Short, Usage: o.Help, DefValue: o.DefaultText(), NoOptDefVal: o.BareValue, Hidden: o.Hidden,
		Value:       &OptionFlag{O: o, set: set, text: o.DefaultText()},
		Annotations: map[string][]string{GroupKey: {o.Group}},
	}
	if o.Kind == Switch {
		f.NoOptDefVal = "true"
	}
	return f
}

// AddOption adds the flag of an option to a set. The default is passed to set at once, and every
// value of the flag later. An unknown name is a programming error.
func AddOption(flags *pflag.FlagSet, name string, set func(Value) error) {
	o := Find(name)
	if o == nil {
		panic(fmt.Sprintf("there is no option %s", name))
	}
	v, err := o.Parse(o.DefaultText())
	if err == nil || o.DefaultText() == "" {
		err = set(v)
	}
	if err != nil {
		panic(fmt.Sprintf("the default of %s: %v", name, err))
	}
	flags.AddFlag(NewFlag(o, set))
}

// Bind adds the flag of an option and stores its value in a variable.
func Bind[T string | bool | int | float64](flags *pflag.FlagSet, name string, to *T) {
	AddOption(flags, name, func(v Value) error {
		switch p := any(to).(type) {
		case *string:
			*p = v.Text
		case *bool:
			*p = v.On
		case *int:
			*p = int(v.Number)
		case *float64:
			*p = v.Number
		}
		return nil
	})
}

// Redefine gives a flag another default, and another help text unless that is empty.
func Redefine(flags *pflag.FlagSet, name, value, help string) {
	f := flags.Lookup(name)
	Must(f.Value.Set(value))
	f.DefValue = f.Value.String()
	f.Usage = cmp.Or(help, f.Usage)
}

// Contradiction reports the first flag that lacks a flag it needs or is combined with a flag it
// excludes. A missing flag with a value for this case, or one that works without a value, is set instead.
func Contradiction(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		o := optionOf(f)
		if o == nil || err != nil || !f.Changed || !IsSet(f) {
			return
		}
		needed, value := flags.Lookup(o.Needs), ""
		if needed != nil {
			value = cmp.Or(optionOf(needed).Implied, needed.NoOptDefVal)
		}
		switch {
		case needed != nil && value != "" && !needed.Changed:
			if err = flags.Set(o.Needs, value); err == nil {
				err = Contradiction(flags) // that one may need another
			}
		case needed != nil && !IsSet(needed):
			err = Usagef("--%s needs --%s", f.Name, strings.TrimSpace(o.Needs+" "+optionOf(needed).Implied))
		case o.Excludes != "" && IsSet(flags.Lookup(o.Excludes)):
			err = Usagef("--%s cannot be combined with --%s; choose one", f.Name, o.Excludes)
		}
	})
	return err
}

// Repeatable lets flags be given more than once.
func Repeatable(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		Must(flags.SetAnnotation(name, manyKey, []string{"true"}))
	}
}

// Repeated reports the first flag that the arguments give two values, of which one would be lost. A value of the
// environment is none of them.
func Repeated(flags *pflag.FlagSet, args []string) (err error) {
	given := map[string]string{}
	flags.ParseAll(args, func(f *pflag.Flag, value string) error { // a wrong flag is an error when they are parsed to be set
		before, again := given[f.Name]
		given[f.Name] = value
		if err != nil || !again || before == value || f.Annotations[manyKey] != nil {
			return err
		}
		hint := ""
		if f.Name == "model" && flags.Lookup("out") != nil {
			hint = "; run each with verity eval --out DIR, and verity report compares the directories"
		}
		if o, both := optionOf(f), before+","+value; o != nil && o.Check != nil && o.Kind != Choice {
			if _, err := o.Parse(both); err == nil {
				hint = fmt.Sprintf(", or both as --%s %s", f.Name, both)
			}
		}
		err = Usagef("--%s %s: --%s %s is given too; want one of them%s", f.Name, show.Name(value), f.Name, show.Name(before), hint)
		return err
	})
	return err
}

// IsSet reports whether a flag differs from its default and is not off.
func IsSet(f *pflag.Flag) bool {
	return f != nil && optionOf(f) != nil && f.Value.String() != optionOf(f).DefaultText() && f.Value.String() != "off"
}

// Must panics on an error that only a programming error can cause.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// DidYouMean ends an error about an unknown word; it is empty without a candidate.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + show.JoinOr(near) + "?"
}

// FlagError makes an error of package pflag one of usage, in the words of this program.
func FlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownFlag(c, "-", unknown.GetSpecifiedShortnames()) // all of -nt, since it may be one flag elsewhere
	case errors.As(err, &unknown):
		return unknownFlag(c, "--", unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		name, kind := missing.GetFlag().Name, missing.GetFlag().Value.Type()
		return Usagef("--%s: the value is missing; want --%s %s", name, name, strings.ToUpper(kind))
	case errors.As(err, &value):
		f, cause := value.GetFlag(), value.Unwrap()
		if wanted := goTypes[f.Value.Type()]; wanted != "" && strings.Contains(cause.Error(), "strconv.") {
			cause = errors.New("want " + wanted)
		}
		return Usagef("--%s %s: %w", f.Name, value.GetValue(), cause)
	}
	return UsageError{Err: err}
}

// Unknown reports the flags among the arguments that a command does not have, if there are several: those of other programs
// come together. One alone is an error when the arguments are parsed.
func Unknown(c *cobra.Command, args []string) error {
	var unknown []string
	bare := false // of advice
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		var f *pflag.Flag
		short, is := strings.CutPrefix(args[i], "-")
		name, _, attached := strings.Cut(strings.TrimPrefix(short, "-"), "=")
		switch {
		case !is || strings.Trim(name, "0123456789.") == "": // a file, standard input, a number
			continue
		case strings.HasPrefix(short, "-"):
			f = c.Flags().Lookup(name)
		default:
			f, attached = c.Flags().ShorthandLookup(name[:1]), len(name) > 1
		}
		if f != nil && f.NoOptDefVal == "" && !attached {
			i++ // its value
		}
		if f == nil {
			typed, hint := advice(c, strings.Repeat("-", 1+len(short)-len(strings.TrimPrefix(short, "-"))), name)
			if bare = bare || hint == ""; hint != "" {
				typed += " (" + strings.TrimLeft(hint, ":; ") + ")"
			}
			unknown = append(unknown, typed)
		}
	}
	if len(unknown) < 2 || !c.HasParent() {
		return nil
	}
	return UsageError{NeedHelp: bare, Err: fmt.Errorf("there are no flags %s", strings.Join(unknown, ", "))}
}

// unknownFlag returns the error of a flag that a command does not have.
func unknownFlag(c *cobra.Command, hyphens, name string) error {
	if args := c.Flags().Args(); !c.HasParent() && len(args) > 0 { // the command is wrong, not its flag
		return NoArgs(c, args)
	}
	typed, hint := advice(c, hyphens, name)
	if hint == "" && IsReader(c) {
		hint = `; if it is another program's, leave it out, or see docs/GUIDE.md, "Coming from another program"`
	}
	if strings.HasPrefix(hint, ": want ") { // another value is known
		return Usagef("%s%s", typed, hint)
	}
	return UsageError{NeedHelp: hint == "", Err: fmt.Errorf("there is no flag %s%s", typed, hint)}
}

// IsReader reports whether a command does the work of the other programs and their servers.
func IsReader(c *cobra.Command) bool {
	return slices.Contains([]string{"transcribe", "watch", "listen", "serve"}, c.Name())
}

// advice returns a flag that a command does not have as it was typed, and what does its work; empty if nothing does.
func advice(c *cobra.Command, hyphens, name string) (typed, hint string) {
	typed = hyphens + name
	long := "--" + strings.ReplaceAll(name, "_", "-")
	var names, having []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	hint = DidYouMean(wer.Nearest(long, names))
	for _, other := range c.Root().Commands() {
		if f := other.Flags().Lookup(name); f != nil && !f.Hidden && !other.Hidden {
			having = append(having, other.CommandPath())
		}
	}
	switch here, there := Elsewhere(name); {
	case here != "" && IsReader(c) && hasAll(c, here):
		if values := accepted(name); len(values) > 0 && strings.HasPrefix(here, "leave") {
			here = "want " + show.JoinOr(values) + "; " + here
		}
		return there, ": " + here
	case hint != "":
	case len(having) == 1:
		hint = "; " + having[0] + " has it"
	case len(having) == 2: // more say little
		hint = "; " + strings.Join(having, " and ") + " have it"
	case (name == "out" || name == "o") && c.Flags().Lookup("json") != nil:
		hint = "; use --json > FILE"
	case name == "split" && c.Flags().Lookup("dataset") != nil:
		hint = ": use --dataset PATH:SPLIT"
	case c.Name() == "report":
		hint = "; use --table for Markdown, --json for programs, --html for a page"
	}
	return typed, hint
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

// goTypes replaces the errors of package strconv, which speak of Go.
var goTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
}

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
		"convert -nc no-context -nlp no-language-probabilities inference-path=/inference inference-path=/v1/audio/transcriptions",

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
	"--output-dir=DIRECTORY --name=NAME":       "-of=* output-file=*",
	"--progress=always":                        "-pp",
	"--speakers[0]=*":                          "min-speakers=*",
	"--speakers[1]=*":                          "max-speakers=*",
	"--speakers=voice":                         "diarize tinydiarize -tdrz",
	"--task=translate":                         "-tr translate",
	"--temperature-increment-on-fallback=none": "-nf no-fallback",

	"audio-context": "audio-ctx -ac", "batch": "batch-size", "beam-size": "-bs", "best-of": "-bo", "chunked": "batched",
	"initial-prompt": "prompt", "logprob-threshold": "logprob-thold -lpt", "model": "model-directory",
	"no-speech-threshold": "no-speech-thold -nth", "offline": "local-files-only model-cache-only", "precision": "to",
	"progress": "print-progress", "quiet": "no-prints -np", "speakers": "num-speakers speaker-num",
	"suppress-expression": "suppress-regex", "temperature": "-tp", "temperature-increment-on-fallback": "temperature-inc -tpi",
	"threads": "cpu-threads -t", "vad": "vad-filter", "vad-min-silence-duration-ms": "-vsd", "vad-threshold": "vad-onset -vt",

	"Verity has no grammars": "grammar grammar-rule", "leave it out: Verity computes on processors alone": "device -dev",
	"use --log-level debug": "debug-mode -debug", "leave it out: --quiet and --stats say how much is printed": "verbose",
	"leave it out": "fp16 -fp -ls log-score -on -ps print-special -wt word-thold suppress-blank max-initial-timestamp " +
		"prompt-reset-on-temperature chunk-size vad-method interpolate-method return-char-alignments",
	"set HF_HUB_CACHE instead": "cache-directory model-dir", "use --compression-ratio-threshold": "entropy-thold -et",
	"use --chunked for one long file, --batch for several": "processors -p chunk-length chunk-length-s",
	"leave it out: context is not limited":                 "max-context -mc",
	"leave it out, or use --precision":                     "compute-type",
	"use --subtitles":                                      "segment-resolution",
	"leave it out: only --vad-threshold and --vad-min-silence-duration-ms can be set": "vad-max-speech-duration-s vad-min-speech-duration-ms " +
		"vad-offset vad-samples-overlap vad-speech-pad-ms -vmsd -vo -vp -vspd",
	"use --word-timestamps": "align-model -dtw", "use -f ass --highlight-words": "output-words -owts",
	"use -f json, which has the language": "detect-language -dl", "use -f json, which has the probabilities": "print-confidence print-colors -pc",
	"use verity listen":                          "live-input-device live-transcribe live-volume-threshold",
	"leave it out: paths and the page are fixed": "inference-path request-path public", "set TMPDIR instead": "tmp-dir",
})

// isOurs reports whether a row of others consists of our flags, or of none.
func isOurs(row string) bool { return row == "" || strings.HasPrefix(row, "--") }

// Equivalent returns what has the effect of the flag of another program that begins args, and of how many of them it
// consists: none if that is no such flag, or if a command has no flag for it.
func Equivalent(c *cobra.Command, args []string) (ours []string, n int) {
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

// Join joins the pairs among the arguments of a command as Equivalent returns them. whisperX's --diarize goes with its numbers.
func Join(args []string) []string {
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

// Elsewhere returns what stands here for the flag of another program, and the flag as that program has it. It is empty for
// a flag without a use here.
func Elsewhere(name string) (here, typed string) {
	typed, name = "--"+name, strings.ReplaceAll(name, "_", "-")
	if here = others["-"+name]; !isOurs(here) {
		return here, "-" + name
	}
	if here = others[name]; isOurs(here) {
		here = ""
	}
	return here, typed
}

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be another program's.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if here, _ := Elsewhere(name); here != "" && !strings.Contains(here, " ") {
		name = here
	}
	return pflag.NormalizedName(name)
}
