package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"verity/cmd/internal/options"
)

// An OptionFlag is an option as a pflag.Value.
type OptionFlag struct {
	O    *options.Option
	text string
	put  func(options.Value) error
}

func (f *OptionFlag) String() string { return f.text }

func (f *OptionFlag) Set(text string) error {
	v, err := f.O.Parse(text)
	if err == nil {
		err = f.put(v)
	}
	if err == nil {
		f.text = v.Text
	}
	return err
}

// Type is what the value is called in help.
func (f *OptionFlag) Type() string {
	switch {
	case f.O.Kind == options.Switch:
		return "bool"
	case f.O.Arg != "":
		return f.O.Arg
	case f.O.Kind == options.Whole || f.O.Kind == options.Unsigned || f.O.Kind == options.Real:
		return "number"
	case f.O.Kind == options.Time:
		return "time"
	}
	return "text"
}

// optionOf returns the option of a flag; nil if it is not in the table.
func optionOf(f *pflag.Flag) *options.Option {
	if f, ok := f.Value.(*OptionFlag); ok {
		return f.O
	}
	return nil
}

// NewFlag returns the flag of an option. Its values go to put.
func NewFlag(o *options.Option, put func(options.Value) error) *pflag.Flag {
	f := &pflag.Flag{
		Name: o.Name, Shorthand: o.Short, Usage: o.Help, DefValue: o.DefaultText(), NoOptDefVal: o.BareValue,
		Value:       &OptionFlag{O: o, put: put, text: o.DefaultText()},
		Annotations: map[string][]string{GroupKey: {o.Group}},
	}
	if o.Kind == options.Switch {
		f.NoOptDefVal = "true"
	}
	return f
}

// AddOption adds the flag of an option to a set. Its default goes to put, and then every
// value of the flag.
func AddOption(set *pflag.FlagSet, name string, put func(options.Value) error) {
	o := options.Find(name)
	if o == nil {
		panic(fmt.Sprintf("there is no option %s", name))
	}
	v, err := o.Parse(o.DefaultText())
	if err == nil || o.DefaultText() == "" {
		err = put(v)
	}
	if err != nil {
		panic(fmt.Sprintf("the default of %s: %v", name, err))
	}
	set.AddFlag(NewFlag(o, put))
}

// Bind adds the flag of an option whose values go to a variable.
func Bind[T string | bool | int | float64](set *pflag.FlagSet, name string, to *T) {
	AddOption(set, name, func(v options.Value) error {
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

// Redefine gives a flag of the table another default, and other help unless it is empty.
func Redefine(set *pflag.FlagSet, name, value, help string) {
	f := set.Lookup(name)
	Must(f.Value.Set(value))
	f.DefValue = f.Value.String()
	f.Usage = cmp.Or(help, f.Usage)
}

// Contradiction reports the first flag that was given although it needs, or excludes,
// another. A flag that is needed and not given is, if it takes no value.
func Contradiction(set *pflag.FlagSet) (err error) {
	set.VisitAll(func(f *pflag.Flag) {
		o := optionOf(f)
		if o == nil || err != nil || !f.Changed || !isSet(f) {
			return
		}
		switch needed := set.Lookup(o.Needs); {
		case needed != nil && needed.NoOptDefVal != "" && !needed.Changed:
			err = set.Set(o.Needs, needed.NoOptDefVal)
		case needed != nil && !isSet(needed):
			err = Usagef("--%s needs --%s", f.Name, o.Needs)
		case o.Excludes != "" && isSet(set.Lookup(o.Excludes)):
			err = Usagef("--%s cannot be combined with --%s", f.Name, o.Excludes)
		}
	})
	return err
}

// isSet reports whether a flag asks for something.
func isSet(f *pflag.Flag) bool {
	return f != nil && optionOf(f) != nil && f.Value.String() != optionOf(f).DefaultText() && f.Value.String() != "off"
}

// Must panics on an error of flag registration, a programmer's mistake.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
