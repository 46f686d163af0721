package setup

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/internal/option"
)

// Decoding returns a function that adds the flags of all decoding options in a scope. Together
// with the model they decide the text.
func Decoding(d *options.Decoding, scope options.Scope) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, o := range options.All() {
			if o.Set != nil && o.Scope&scope == scope {
				cli.AddOption(f, o.Name, func(v options.Value) error { o.Set(d, v); return nil })
			}
		}
	}
}

// InFlag turns the error of an option into one that names its flag.
func InFlag(err error) error {
	var bad *option.Error
	if !errors.As(err, &bad) {
		return err
	}
	name, value := bad.Option, fmt.Sprintf(" %v", bad.Value)
	if o := options.ByField(bad.Option); o != nil {
		if name = o.Name; o.Kind == options.Switch || bad.Value == nil {
			value = ""
		}
	}
	reason := bad.Reason
	if bad.Option == "Language" {
		reason += "; verity info lists the languages of a model"
	}
	return cli.Usagef("--%s%s: %s", name, value, reason)
}
