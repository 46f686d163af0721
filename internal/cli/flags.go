package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"verity/internal/options"
)

// An optionFlag is an option as a pflag.Value.
type optionFlag struct {
	o    *options.Option
	text string
	put  func(options.Value) error
}

func (f *optionFlag) String() string { return f.text }

func (f *optionFlag) Set(text string) error {
	v, err := f.o.Parse(text)
	if err == nil {
		err = f.put(v)
	}
	if err == nil {
		f.text = v.Text
	}
	return err
}

// Type is what the value is called in help.
func (f *optionFlag) Type() string {
	switch {
	case f.o.Kind == options.Switch:
		return "bool"
	case f.o.Unit != "":
		return f.o.Unit
	case f.o.Kind == options.Whole || f.o.Kind == options.Unsigned || f.o.Kind == options.Real:
		return "number"
	case f.o.Kind == options.Time:
		return "time"
	}
	return "text"
}

// optionOf returns the option of a flag; nil if it is not in the table.
func optionOf(f *pflag.Flag) *options.Option {
	if f, ok := f.Value.(*optionFlag); ok {
		return f.o
	}
	return nil
}

// addOption adds the flag of an option to a set. Its default, and then every value that it
// is given, goes to put. A name that is not in the table is the programmer's mistake.
func addOption(set *pflag.FlagSet, name string, put func(options.Value) error) {
	o := options.Find(name)
	if o == nil {
		panic(fmt.Sprintf("there is no option %s", name))
	}
	value := &optionFlag{o: o, put: put, text: o.Zero()}
	v, err := o.Parse(value.text)
	if err == nil || value.text == "" {
		err = put(v)
	}
	if err != nil {
		panic(fmt.Sprintf("the default of %s: %v", name, err))
	}
	f := set.VarPF(value, name, o.Short, o.Help)
	if o.Kind == options.Switch {
		f.NoOptDefVal = "true"
	}
	must(set.SetAnnotation(name, groupKey, []string{o.Group}))
}

// bind adds the flag of an option whose values go to a variable.
func bind[T ~string | ~bool | ~int | ~int64 | ~uint64 | ~float64](set *pflag.FlagSet, name string, to *T) {
	addOption(set, name, func(v options.Value) error {
		switch p := any(to).(type) {
		case *string:
			*p = v.Text
		case *bool:
			*p = v.On
		case *int:
			*p = int(v.Number)
		case *int64:
			*p = int64(v.Number)
		case *float64:
			*p = v.Number
		default:
			return fmt.Errorf("a variable of type %T", to)
		}
		return nil
	})
}

// redefine gives a flag of the table another default, and other help unless it is empty.
func redefine(set *pflag.FlagSet, name, value, help string) {
	f := set.Lookup(name)
	must(f.Value.Set(value))
	f.DefValue = f.Value.String()
	f.Usage = cmp.Or(help, f.Usage)
}

// contradiction reports the first flag that was given although it needs, or excludes,
// another.
func contradiction(set *pflag.FlagSet) (err error) {
	set.VisitAll(func(f *pflag.Flag) {
		o := optionOf(f)
		if o == nil || err != nil || !f.Changed || !isSet(f) {
			return
		}
		switch {
		case o.Needs != "" && set.Lookup(o.Needs) != nil && !isSet(set.Lookup(o.Needs)):
			err = usagef("--%s needs --%s", f.Name, o.Needs)
		case o.Not != "" && isSet(set.Lookup(o.Not)):
			err = usagef("--%s cannot be combined with --%s", f.Name, o.Not)
		}
	})
	return err
}

// isSet reports whether a flag asks for something.
func isSet(f *pflag.Flag) bool {
	return f != nil && optionOf(f) != nil && f.Value.String() != optionOf(f).Zero()
}
