package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/wer"
)

// DidYouMean ends an error about an unknown word; it is empty without a candidate.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// FlagError makes an error of package pflag one of usage, in the words of this program.
func FlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(c, "--"+unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		if all := unknown.GetSpecifiedShortnames(); len(all) > 1 {
			return Usagef("there is no flag -%s, of -%s; long flags begin with two hyphens", unknown.GetSpecifiedName(), all)
		}
		return UsageError{Err: fmt.Errorf("there is no flag -%s", unknown.GetSpecifiedName()), NeedHelp: true}
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
	name := string(Dashes(nil, strings.TrimPrefix(typed, "--")))
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := wer.Nearest(name, names)
	if len(near) > 0 {
		for i := range near {
			near[i] = "--" + near[i]
		}
		return Usagef("there is no flag %s%s", typed, DidYouMean(near))
	}
	for _, other := range c.Root().Commands() {
		if f := other.Flags().Lookup(name); f != nil && !f.Hidden {
			return Usagef("there is no flag %s: use %s --%s", typed, other.CommandPath(), name)
		}
	}
	return UsageError{Err: fmt.Errorf("there is no flag %s", typed), NeedHelp: true}
}

// goTypes replaces the errors of package strconv, which speak of Go.
var goTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
}

// Dashes lets flags be written with underscores, as Python does: --output_format.
func Dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
