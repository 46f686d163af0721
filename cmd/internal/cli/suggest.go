package cli

import (
	"errors"
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
		name := string(Dashes(nil, unknown.GetSpecifiedName()))
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		near := wer.Nearest(name, names)
		for i := range near {
			near[i] = "--" + near[i]
		}
		return Usagef("there is no flag --%s%s", name, DidYouMean(near))
	case errors.As(err, &unknown):
		if all := unknown.GetSpecifiedShortnames(); len(all) > 1 {
			return Usagef("there is no flag -%s, of -%s; long flags begin with two hyphens", unknown.GetSpecifiedName(), all)
		}
		return Usagef("there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		return Usagef("--%s: the value is missing", missing.GetFlag().Name)
	case errors.As(err, &value):
		f, cause := value.GetFlag(), value.Unwrap()
		if wanted := goTypes[f.Value.Type()]; wanted != "" && strings.Contains(cause.Error(), "strconv.") {
			cause = errors.New("want " + wanted)
		}
		return Usagef("--%s %s: %w", f.Name, value.GetValue(), cause)
	}
	return UsageError{Err: err}
}

// goTypes replaces the errors of package strconv, which speak of Go.
var goTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
}

// Dashes lets flags be written with underscores, as Python does: --output_format.
func Dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
