package setup

import (
	"errors"
	"log/slog"

	"github.com/spf13/pflag"

	"verity/internal/command"
	"verity/internal/options"
	"verity/transcribe"
)

// DecodingFlags say how to decode: they decide the text, together with the model.
type DecodingFlags struct{ options.Decoding }

// Register adds the options of decoding that everybody named by who may set.
func (d *DecodingFlags) Register(who options.Who) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, name := range options.Names(who) {
			command.AddOption(f, name, d.Put(name))
		}
	}
}

// Options returns the options that the flags set.
func (d *DecodingFlags) Options(log *slog.Logger) transcribe.Options {
	o := d.Result()
	o.Log = log
	return o
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
	return command.Usagef("--%s %v: %s", name, option.Value, option.Reason)
}
