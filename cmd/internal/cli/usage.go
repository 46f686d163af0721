package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
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
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownFlag(c, "-", unknown.GetSpecifiedShortnames()) // all of -nt, since it may be one flag elsewhere
	case errors.As(err, &unknown):
		return unknownFlag(c, "--", unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		name, kind := missing.GetFlag().Name, missing.GetFlag().Value.Type()
		return Usagef("--%s: the value is missing; want --%s %s", name, name, strings.ToUpper(kind))
	case errors.As(err, &value):
		f, cause := value.GetFlag(), value.Unwrap()
		if wanted := goTypes[f.Value.Type()]; wanted != "" && strings.Contains(cause.Error(), "strconv.") {
			cause = errors.New("want " + wanted)
		}
		return Usagef("--%s %s: %w", f.Name, show.Name(value.GetValue()), cause)
	}
	return Usagef("%w; want --NAME or --NAME=VALUE", err)
}

// goTypes replaces the errors of package strconv, which speak of Go.
var goTypes = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
}

// Unknown reports the flags among the arguments that a command does not have, if there are several: those of other programs
// come together. One alone is an error when the arguments are parsed. An empty argument, and a long flag with one hyphen, are
// errors at once.
func Unknown(c *cobra.Command, args []string) error {
	var unknown, hints []string
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		var f *pflag.Flag
		short, is := strings.CutPrefix(args[i], "-")
		name, _, attached := strings.Cut(strings.TrimPrefix(short, "-"), "=")
		switch {
		case args[i] == "" && !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd):
			return Usagef(`an argument is empty (""): want a name; perhaps a variable of the shell is not set`)
		case strings.ContainsAny(args[i][:min(len(args[i]), 3)], "–—"):
			return Usagef("%s: begins with a dash; write two hyphens, --", show.Name(args[i]))
		case !is || strings.Trim(name, "0123456789.") == "": // a file, standard input, a number
			continue
		case strings.HasPrefix(short, "-"):
			f = c.Flags().Lookup(name)
		default:
			long := slices.DeleteFunc(longNames(c), func(long string) bool { return !strings.HasPrefix(long, name) })
			if len(name) > 2 && len(long) > 0 && c.Flags().ShorthandLookup(name[:1]) != nil { // -m odel
				return Usagef("-%s: write %s", name, show.JoinOr(hyphened(long)))
			}
			f, attached = c.Flags().ShorthandLookup(name[:1]), len(name) > 1
		}
		if f != nil && f.NoOptDefVal == "" && !attached {
			i++ // its value
		}
		if f == nil {
			typed, hint := advice(c, strings.Repeat("-", 1+len(short)-len(strings.TrimPrefix(short, "-"))), name)
			unknown, hints = append(unknown, typed), append(hints, hint)
		}
	}
	if len(unknown) < 2 || !c.HasParent() {
		return nil
	}
	text := "there are no flags "
	for i, typed := range unknown { // equal hints are said once
		switch {
		case i+1 < len(hints) && hints[i] == hints[i+1], hints[i] == "":
			text += typed + ", "
		default:
			text += fmt.Sprintf("%s (%s), ", typed, strings.TrimLeft(hints[i], ":; "))
		}
	}
	return UsageError{NeedHelp: slices.Contains(hints, ""), Err: errors.New(strings.TrimSuffix(text, ", "))}
}

// longNames returns the flags of a command that its help shows.
func longNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

func hyphened(names []string) []string { return strings.Fields("--" + strings.Join(names, " --")) }

// unknownFlag returns the error of a flag that a command does not have.
func unknownFlag(c *cobra.Command, hyphens, name string) error {
	if args := c.Flags().Args(); !c.HasParent() && len(args) > 0 { // the command is wrong, not its flag
		return NoArgs(c, args)
	}
	typed, hint := advice(c, hyphens, name)
	switch {
	case hint == "" && c.Name() == "serve":
		hint = `; if it is another server's, leave it out: docs/SERVER.md, "Other clients", has the fields of requests`
	case hint == "" && isReader(c):
		hint = `; if it is another program's, leave it out, or see docs/GUIDE.md, "Coming from another program"`
	}
	if strings.HasPrefix(hint, ": want ") { // another value is known
		return Usagef("%s%s", typed, hint)
	}
	return UsageError{NeedHelp: hint == "", Err: fmt.Errorf("there is no flag %s%s", typed, hint)}
}

// advice returns a flag that a command does not have as it was typed, and what does its work; empty if nothing does.
// The annotations of a command are its own hints, by the name of a flag that it does not have; under "" for any other.
func advice(c *cobra.Command, hyphens, name string) (typed, hint string) {
	typed = hyphens + name
	var having []string
	for _, other := range c.Root().Commands() {
		if f := other.Flags().Lookup(name); f != nil && !f.Hidden && !other.Hidden {
			having = append(having, other.CommandPath())
		}
	}
	if row := elsewhere(name); isReader(c) && row != (foreignFlag{}) {
		if typed = "--" + name; slices.Contains(strings.Fields(row.names), "-"+name) {
			typed = "-" + name
		}
		if hasAll(c, row.advice) && (row.same == "" || c.Flags().Lookup(row.same) != nil) {
			return typed, ": " + adviceFor(name, row)
		}
	}
	near := wer.Nearest(strings.ReplaceAll(name, "_", "-"), longNames(c))
	switch {
	case len(near) > 0:
		hint = DidYouMean(hyphened(near))
	case audio.HasEnding(name):
		hint = "; a file of that name is written ./" + typed
	case c.Annotations[name] != "":
		hint = c.Annotations[name]
	case len(having) == 1 && c.Parent() == c.Root():
		hint = "; " + having[0] + " has it"
	case len(having) == 2: // more say little
		hint = "; " + strings.Join(having, " and ") + " have it"
	case (name == "out" || name == "o") && c.Flags().Lookup("json") != nil:
		hint = "; use --json > FILE"
	case name == "split" && c.Flags().Lookup("dataset") != nil:
		hint = ": use --dataset PATH:SPLIT"
	default:
		hint = c.Annotations[""]
	}
	return typed, hint
}

// adviceFor returns what a row says about a flag, with the values that need no advice.
func adviceFor(name string, row foreignFlag) string {
	var values []string
	for _, row := range foreignByName[bareName(name)] {
		values = append(values, strings.Fields(strings.Trim(row.values, "*"))...)
	}
	if text := cmp.Or(row.advice, row.same); len(values) == 0 || !strings.HasPrefix(text, "leave") {
		return text
	}
	slices.Sort(values)
	return "want " + show.JoinOr(values) + "; " + row.advice
}

// isReader reports whether a command does the work of the other programs and their servers.
func isReader(c *cobra.Command) bool {
	return slices.Contains([]string{"transcribe", "watch", "listen", "serve"}, c.Name())
}
