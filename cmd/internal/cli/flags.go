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
		if advice := instead[all]; advice != "" && c.Name() == "transcribe" {
			return Usagef("there is no flag -%s: %s", all, advice)
		}
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
	"audio-ctx": "audio-context", "batched": "chunked", "cpu-threads": "threads", "local-files-only": "offline",
	"logprob-thold": "logprob-threshold", "model-cache-only": "offline", "model-directory": "model", "no-prints": "quiet",
	"no-speech-thold": "no-speech-threshold", "num-speakers": "speakers", "print-progress": "progress",
	"prompt": "initial-prompt", "speaker-num": "speakers", "suppress-regex": "suppress-expression",
	"temperature-inc": "temperature-increment-on-fallback", "to": "precision", "vad-filter": "vad", "vad-onset": "vad-threshold",
	"ac": "audio-context", "bo": "best-of", "bs": "beam-size", "lpt": "logprob-threshold", "np": "quiet",
	"nth": "no-speech-threshold", "tp": "temperature", "tpi": "temperature-increment-on-fallback",
}

const leaveOut = "leave it out"

// instead says what does the work of flags of whisper, whisper.cpp, faster-whisper and whisperX.
var instead = map[string]string{
	"fp16": leaveOut, "device": leaveOut, "device-index": leaveOut, "no-gpu": leaveOut, "flash-attn": leaveOut,
	"hf-token": leaveOut, "print-colors": leaveOut, "no-timestamps": leaveOut,
	"batch-size": "use --chunked for one long file, --batch for several", "compute-type": "use --precision",
	"diarize": "use --speakers voice", "min-speakers": "use --speakers 2-4", "max-speakers": "use --speakers 2-4",
	"duration": "use --clip-timestamps START,END, in seconds", "offset-t": "use --clip-timestamps START,END, in seconds",
	"file": "a recording needs no flag", "output-file": "use --output-dir DIRECTORY --name NAME",
	"live-transcribe": "use verity listen", "grammar": "Verity has no grammars", "model-dir": "set HF_HUB_CACHE instead",
	"max-context": "use --condition-on-previous-text=false", "max-len": "use --max-line-width",
	"no-fallback": "use --temperature-increment-on-fallback none", "translate": "use --task translate",
	"verbose": "use --quiet, or --log-level debug", "split-on-word": leaveOut,
	"d": "use --clip-timestamps START,END, in seconds", "di": "use --speakers voice", "dl": leaveOut,
	"dtw": "use --word-timestamps", "et": "use --compression-ratio-threshold", "fa": leaveOut,
	"ls": leaveOut, "mc": "use --condition-on-previous-text=false", "ml": "use --max-line-width",
	"nf": "use --temperature-increment-on-fallback none", "ng": leaveOut, "nt": leaveOut,
	"of": "use --output-dir DIRECTORY --name NAME", "on": leaveOut,
	"ot": "use --clip-timestamps START,END, in seconds", "owts": "use -f ass --highlight-words",
	"p": "use --chunked for one long file, --batch for several", "pc": leaveOut, "pp": "use --progress always", "ps": leaveOut,
	"sow": leaveOut, "tdrz": "use --speakers voice", "tr": "use --task translate", "vm": leaveOut,
}

// IsForeign reports whether a name is that of a flag in another program.
func IsForeign(name string) bool { return aliases[name] != "" || instead[name] != "" }

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be an alias.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	return pflag.NormalizedName(cmp.Or(aliases[name], name))
}
