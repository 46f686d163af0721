// Package options is the one table of what can be set about a run: by a flag, a key of the
// configuration file, an environment variable, or a field of a request.
//
//	Find(name).Parse(text) → Value, or why not
//	Option.Set(&decoding, Value); decoding.Result() → transcribe.Options
//
// An option stands once, in table.go. Flags, keys, variables, form fields, completion,
// help, manual pages, docs/reference/CLI.md and the names in errors derive from it.
package options

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/internal/show"
)

// Who says who may set an option, besides a flag of the commands that have it.
type Who uint8

const (
	Keep    Who = 1 << iota // the configuration file and $VERITY_NAME
	Server                  // a flag of serve
	Request                 // a field of a form
)

// A Kind is what the text of an option is.
type Kind uint8

const (
	Switch   Kind = iota // true or false
	Whole                // a whole number from Min to Max
	Unsigned             // a whole number of 64 bits
	Real                 // a number from Min to Max
	Time                 // a duration with its unit, from Min to Max in seconds
	Text                 // of at most Max bytes
	Choice               // one of Choices
	List                 // what Check accepts
)

// An Option is a row of the table.
type Option struct {
	Name, Short string
	Kind        Kind
	Unit        string   // of a number, or what the text is: shown as the value in help
	Default     string   // empty means what the zero of the kind means
	Alone       string   // what the flag means without a value; empty: it needs one
	Min, Max    float64  // of numbers, bounds included unless Above; of text, bytes
	Above       bool     // Min itself is refused
	None        bool     // "none" turns it off
	Choices     []string // of Choice, and what completion offers of List
	Check       func(text string) error
	Group       string
	Brief       string // what -h says; empty for options that it leaves out
	Who         Who
	Needs, Not  string // another option without which (one that needs no value is then given), or with which, it is refused
	Help        string

	Field string                           // of transcribe.Options, which its errors name
	Set   func(d *Decoding, v Value) error // of options of decoding
}

// A Value is the parsed text of an option.
type Value struct {
	Text   string
	Number float64 // of Whole and Real; seconds of Time
	Off    bool    // "none"
	On     bool    // of a switch
}

// All returns the options in the order of help.
func All() []*Option { return table }

// Find returns the option of a name; nil if there is none.
func Find(name string) *Option { return first(func(o *Option) bool { return o.Name == name }) }

// ByField returns the option that sets a field of transcribe.Options; nil if none does.
func ByField(field string) *Option {
	return first(func(o *Option) bool { return o.Field != "" && o.Field == field })
}

func first(is func(*Option) bool) *Option {
	if i := slices.IndexFunc(table, is); i >= 0 {
		return table[i]
	}
	return nil
}

// Variable is the environment variable that sets an option.
func (o *Option) Variable() string {
	return "VERITY_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// FormField is the name in forms, which have underscores, as OpenAI's fields do.
func (o *Option) FormField() string { return strings.ReplaceAll(o.Name, "-", "_") }

// Zero is the text of the default, in the form that Parse returns.
func (o *Option) Zero() string {
	if o.Default != "" {
		return o.Default
	}
	switch o.Kind {
	case Switch:
		return "false"
	case Whole, Unsigned, Real:
		return "0"
	}
	return ""
}

// Parse reads the text of an option. The error says what is wanted and names neither
// option nor text.
func (o *Option) Parse(text string) (v Value, err error) {
	v.Text = text
	if o.None && strings.EqualFold(text, "none") {
		return Value{Text: "none", Off: true}, nil
	}
	switch o.Kind {
	case Switch:
		v.On, err = strconv.ParseBool(text)
		if v.Text = strconv.FormatBool(v.On); err != nil {
			return v, errors.New("want true or false")
		}
	case Unsigned:
		n, err := strconv.ParseUint(text, 10, 64)
		if v.Number, v.Text = float64(n), strconv.FormatUint(n, 10); err != nil {
			return v, errors.New("want a whole number from 0 to 2^64-1")
		}
	case Whole, Real, Time:
		return o.number(text)
	case Text:
		if len(text) > int(o.Max) {
			return v, fmt.Errorf("got %d bytes, want at most %d", len(text), int(o.Max))
		}
	case Choice:
		if !slices.Contains(o.Choices, text) {
			return v, fmt.Errorf("want %s", show.JoinOr(o.Choices))
		}
	}
	if o.Check != nil {
		err = o.Check(text)
	}
	return v, err
}

// number reads a number within the bounds.
func (o *Option) number(text string) (v Value, err error) {
	switch o.Kind {
	case Whole:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.Number, v.Text = float64(n), strconv.FormatInt(n, 10)
	case Time:
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.Number, v.Text = d.Seconds(), text
	default:
		v.Number, err = strconv.ParseFloat(text, 64)
		v.Text = strconv.FormatFloat(v.Number, 'g', -1, 64)
	}
	// Written so that NaN is refused.
	inside := v.Number >= o.Min && v.Number <= o.Max && !(o.Above && v.Number == o.Min)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(v.Number) {
		return v, fmt.Errorf("want %s", o.want())
	}
	if err != nil || !inside {
		return v, fmt.Errorf("must be %s", o.Range())
	}
	return v, nil
}

// want says what a number is.
func (o *Option) want() string {
	what := map[Kind]string{Whole: "a whole number", Real: "a number", Time: "a time with its unit, as 90s, 10m or 1h30m"}[o.Kind]
	if o.Unit != "" && o.Unit != "number" && o.Kind != Time {
		what += " of " + o.Unit
	}
	if o.None {
		what += " or none"
	}
	return what
}

// Range says which numbers are accepted; empty for options that are none.
func (o *Option) Range() (text string) {
	switch {
	case o.Kind != Whole && o.Kind != Real && o.Kind != Time:
		return ""
	case o.Above:
		text = fmt.Sprintf("above %s, up to %s", o.show(o.Min), o.show(o.Max))
	default:
		text = fmt.Sprintf("from %s to %s", o.show(o.Min), o.show(o.Max))
	}
	switch o.Unit {
	case "seconds", "ms", "MiB":
		text += " " + o.Unit
	}
	if o.None {
		text += ", or none"
	}
	return text
}

// show is a number as Parse takes it.
func (o *Option) show(x float64) string {
	if o.Kind != Time {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := time.Duration(x * float64(time.Second)).String() // as 6h0m0s
	text = strings.TrimSuffix(strings.Replace(text, "m0s", "m", 1), "0s")
	return cmp.Or(strings.Replace(text, "h0m", "h", 1), "0")
}
