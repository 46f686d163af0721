package setup

import (
	"errors"

	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/transcribe"
)

// Decoding returns the function that adds the options of decoding that everybody named by who
// may set. They decide the text, together with the model.
func Decoding(d *options.Decoding, who options.Who) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, o := range options.All() {
			if o.Set != nil && o.Who&who == who {
				cli.AddOption(f, o.Name, func(v options.Value) error { return o.Set(d, v) })
			}
		}
	}
}

// InFlag turns an unusable option into an error of its flag.
func InFlag(err error) error {
	var option *transcribe.OptionError
	if !errors.As(err, &option) {
		return err
	}
	name := option.Field
	if o := options.ByField(option.Field); o != nil {
		name = o.Name
	}
	return cli.Usagef("--%s %v: %s", name, option.Value, option.Reason)
}
