package cli

import (
	"errors"
	"log/slog"

	"github.com/spf13/pflag"

	"verity/internal/options"
	"verity/transcribe"
)

// decodingFlags say how to decode: they decide the text, together with the model.
type decodingFlags struct{ options.Decoding }

// register adds the options of decoding that everybody named by who may set.
func (d *decodingFlags) register(who options.Who) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, name := range options.Names(who) {
			addOption(f, name, d.Put(name))
		}
	}
}

// options returns the options that the flags set.
func (d *decodingFlags) options(log *slog.Logger) transcribe.Options {
	o := d.Result()
	o.Log = log
	return o
}

// inFlag turns an unusable option into an error of its flag.
func inFlag(err error) error {
	var option *transcribe.OptionError
	if !errors.As(err, &option) {
		return err
	}
	name := option.Field
	if o := options.ByField(option.Field); o != nil {
		name = o.Name
	}
	return usagef("--%s %v: %s", name, option.Value, option.Reason)
}
