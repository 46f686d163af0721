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
		of := ""
		if all := unknown.GetSpecifiedShortnames(); len(all) > 1 {
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
	return UsageError{NeedHelp: true, Err: fmt.Errorf("there is no flag %s%s", typed, hint)}
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
}

// Normalize returns the name of a flag, which may be written with underscores, as in Python, or be an alias.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	return pflag.NormalizedName(cmp.Or(aliases[name], name))
}
