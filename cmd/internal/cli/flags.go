package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"verity/internal/show"
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

// isValue reports whether the argument after a flag that may stand alone is its value: it would be a valid one, or is no
// name of a sound, and no file has that name.
func isValue(flags *pflag.FlagSet, flag, arg string) bool {
	name, long := strings.CutPrefix(flag, "--")
	f := flags.Lookup(name)
	if !long || f == nil || f.NoOptDefVal == "" || optionOf(f) == nil {
		return false
	}
	o := optionOf(f)
	_, invalid := o.Parse(arg)
	_, err := os.Stat(arg)
	isWord := o.Kind != Switch && !strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, `./\:*`) // a wrong value rather than a file
	return (invalid == nil || isWord) && err != nil
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
		if o == nil || err != nil || !f.Changed {
			return
		}
		needed, value := flags.Lookup(o.Needs), ""
		switch isNumber := o.Kind == Whole || o.Kind == Real; {
		case o.Kind == Text && o.Max == maxPath && o.Arg != "name" && f.Value.String() == "":
			err = Usagef("--%s is empty; want a %s; perhaps a variable of the shell is not set", f.Name, o.Arg)
			return
		case !IsSet(f) && (!isNumber || o.Default == "" || needed == nil || !needed.Changed): // a default may lack what it needs
			return
		}
		if needed != nil {
			value = cmp.Or(optionOf(needed).Implied, needed.NoOptDefVal)
		}
		switch {
		case needed != nil && value != "" && !needed.Changed:
			if err = flags.Set(o.Needs, value); err == nil {
				err = Contradiction(flags) // that one may need another
			}
		case needed != nil && !IsSet(needed):
			err = Usagef("--%s needs --%s", f.Name, strings.TrimSpace(o.Needs+" "+strings.TrimSuffix(value, "true")))
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
