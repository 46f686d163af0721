package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(c, unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		of, all := "", unknown.GetSpecifiedShortnames()
		if len(all) > 1 {
			of = ", of -" + all + "; long flags begin with two hyphens"
		}
		return noFlag(c, "-"+unknown.GetSpecifiedName()+of)
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

// unknownFlag returns the error of a long flag that a command does not have, as it was typed.
func unknownFlag(c *cobra.Command, typed string) error {
	name := strings.ReplaceAll(typed, "_", "-")
	if advice := instead[name]; advice != "" && c.Name() == "transcribe" {
		return Usagef("there is no flag --%s: %s", typed, advice)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	if near := wer.Nearest("--"+name, names); len(near) > 0 {
		return Usagef("there is no flag --%s%s", typed, DidYouMean(near))
	}
	for _, other := range c.Root().Commands() {
		if f := other.Flags().Lookup(name); f != nil && !f.Hidden && !other.Hidden {
			return Usagef("there is no flag --%s: use %s --%s", typed, other.CommandPath(), name)
		}
	}
	return noFlag(c, "--"+typed)
}

// noFlag returns the error of a flag that no command has.
func noFlag(c *cobra.Command, typed string) error {
	hint := ""
	switch name := c.Name(); {
	case name == "serve" && (typed == "--port" || typed == "--host"):
		hint = "; use --listen HOST:PORT"
	case name == "report":
		hint = "; use --table for Markdown, --json for programs, --html for a page"
	case name == "transcribe" || name == "watch":
		hint = `; docs/GUIDE.md, "Coming from another program", lists the flags of whisper, whisper.cpp and faster-whisper`
	}
	return UsageError{NeedHelp: hint == "", Err: fmt.Errorf("there is no flag %s%s", typed, hint)}
}

// goTypes replaces the errors of package strconv, which speak of Go.
var goTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
}

// aliases are the names of flags in other programs that mean the same as ours.
var aliases = map[string]string{
	"audio-ctx": "audio-context", "batch-size": "batch", "batched": "chunked", "cpu-threads": "threads", "local-files-only": "offline",
	"logprob-thold": "logprob-threshold", "model-cache-only": "offline", "model-directory": "model", "no-prints": "quiet",
	"no-speech-thold": "no-speech-threshold", "num-speakers": "speakers", "print-progress": "progress",
	"prompt": "initial-prompt", "speaker-num": "speakers", "suppress-regex": "suppress-expression",
	"temperature-inc": "temperature-increment-on-fallback", "to": "precision", "vad-filter": "vad", "vad-onset": "vad-threshold",
	"ac": "audio-context", "bo": "best-of", "bs": "beam-size", "lpt": "logprob-threshold", "np": "quiet",
	"nth": "no-speech-threshold", "t": "threads", "tp": "temperature", "tpi": "temperature-increment-on-fallback",
	"vsd": "vad-min-silence-duration-ms", "vt": "vad-threshold",
}

// What does the work of flags that several programs have.
const (
	leaveOut   = "leave it out"
	cacheDir   = "set HF_HUB_CACHE instead"
	clip       = "use --clip-timestamps START,END, in seconds"
	confidence = "use -f json, which has the probabilities"
	files      = "use --output-dir DIRECTORY --name NAME"
	loops      = "use --compression-ratio-threshold"
	noGrammar  = "Verity has no grammars"
	noPrevious = "use --condition-on-previous-text=false"
	parts      = "use --chunked for one long file, --batch for several"
	spoken     = "use -f json, which has the language"
	tuned      = "use --vad-threshold and --vad-min-silence-duration-ms"
	underlined = "use -f ass --highlight-words"
	voices     = "use --speakers voice"
)

// instead says what does the work of flags of whisper, whisper.cpp, faster-whisper and whisperX.
var instead = map[string]string{
	"align-model": "use --word-timestamps", "cache-directory": cacheDir, "chunk-length": leaveOut, "chunk-size": leaveOut,
	"compute-type": "use --precision", "debug-mode": "use --log-level debug", "detect-language": spoken, "device": leaveOut,
	"device-index": leaveOut, "diarize": voices, "duration": clip, "entropy-thold": loops, "file": "a recording needs no flag",
	"flash-attn": leaveOut, "font-path": leaveOut, "fp16": leaveOut, "grammar": noGrammar, "grammar-penalty": noGrammar,
	"grammar-rule": noGrammar, "hf-token": leaveOut, "interpolate-method": leaveOut, "language-detection-segments": leaveOut,
	"language-detection-threshold": leaveOut, "live-input-device": "use verity listen", "live-transcribe": "use verity listen",
	"live-volume-threshold": "use verity listen", "max-context": noPrevious, "max-initial-timestamp": leaveOut, "max-len": "use --max-line-width",
	"max-speakers": "use --speakers 2-4", "min-speakers": "use --speakers 2-4", "model-dir": cacheDir, "no-align": leaveOut,
	"no-fallback": "use --temperature-increment-on-fallback none", "no-flash-attn": leaveOut, "no-gpu": leaveOut, "no-timestamps": leaveOut,
	"offset-n": leaveOut, "offset-t": clip, "output-file": files, "output-words": underlined, "ov-e-device": leaveOut,
	"pretty-json": leaveOut, "print-colors": leaveOut, "print-confidence": confidence, "print-special": leaveOut, "processors": parts,
	"prompt-reset-on-temperature": leaveOut, "return-char-alignments": leaveOut, "segment-resolution": "use --subtitles",
	"split-on-word": leaveOut, "suppress-blank": leaveOut, "suppress-nst": leaveOut, "tinydiarize": voices,
	"translate": "use --task translate", "vad-max-speech-duration-s": tuned, "vad-method": leaveOut, "vad-min-speech-duration-ms": tuned,
	"vad-model": leaveOut, "vad-offset": tuned, "vad-samples-overlap": tuned, "vad-speech-pad-ms": tuned,
	"verbose": "use --quiet, or --log-level debug", "word-thold": leaveOut,
	"d": clip, "debug": "use --log-level debug", "dev": leaveOut, "di": voices, "dl": spoken, "dtw": "use --word-timestamps",
	"et": loops, "fa": leaveOut, "fp": leaveOut, "ls": leaveOut, "mc": noPrevious, "ml": "use --max-line-width",
	"nf": "use --temperature-increment-on-fallback none", "nfa": leaveOut, "ng": leaveOut, "nt": leaveOut, "of": files, "on": leaveOut,
	"ot": clip, "oved": leaveOut, "owts": underlined, "p": parts, "pc": leaveOut, "pp": "use --progress always", "ps": leaveOut,
	"sns": leaveOut, "sow": leaveOut, "tdrz": voices, "tr": "use --task translate", "vm": leaveOut, "vmsd": tuned, "vo": tuned,
	"vp": tuned, "vspd": tuned, "wt": leaveOut,
}

// IsForeign reports whether a name is that of a flag in another program.
func IsForeign(name string) bool { return aliases[name] != "" || instead[name] != "" }

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be an alias.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	return pflag.NormalizedName(cmp.Or(aliases[name], name))
}
