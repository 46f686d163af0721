package cli

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
	"verity/transcribe"
	"verity/transcript"
	"verity/wer"
)

// A Scope is a set of places where an option may be set, besides the flags of transcribe and of
// the measuring commands.
type Scope uint8

const (
	Configurable Scope = 1 << iota // $VERITY_NAME
	Server                         // a flag of serve
	Request                        // a field of a request to the server
)

// A Kind is the type of an option's value.
type Kind uint8

const (
	Switch   Kind = iota // true or false
	Whole                // a whole number from Min to Max
	Unsigned             // a whole number of 64 bits
	Real                 // a number from Min to Max
	Time                 // a duration with its unit, from Min to Max in seconds
	Text                 // at most Max bytes
	Choice               // one of Choices
	List                 // whatever Check accepts
)

// An Option is a row of the table.
type Option struct {
	Name, Short string
	Kind        Kind
	Arg         string   // name of the value in help; seconds, ms and MiB are also units
	Default     string   // empty for the zero value of the kind
	BareValue   string   // value of the flag alone; empty if it needs a value
	Min, Max    float64  // bounds of a number; Max also of the bytes of a text
	Above       bool     // Min itself is not allowed
	None        bool     // "none" turns it off
	Choices     []string // of Choice; offered by completion for List
	Check       func(text string) error
	Scope       Scope
	Needs       string              // another option that must be set; one with Implied or BareValue is set by this one
	Implied     string              // value that options that need this one set; empty: BareValue
	Excludes    string              // another option that must not be set
	Formats     []transcript.Format // of output where it can have an effect; nil if it has one in any
	Common      bool                // -h shows it
	Help        string              // text of --help
	Hint        string              // ends an error about the value
	Hidden      bool                // from help and the documents
	Group       string              // heading of help

	Field string                     // of the library's options, as its errors name it
	Set   func(d *Decoding, v Value) // nil for options that do not affect decoding
}

// A Value is the parsed text of an option.
type Value struct {
	Text   string
	Number float64 // of Whole and Real; seconds of Time
	Off    bool    // "none"
	On     bool    // of a switch
}

var table = func() (all []*Option) {
	for _, s := range sections {
		for _, o := range s.options {
			o.Group = s.title
		}
		all = append(all, s.options...)
	}
	return all
}()

// All returns the options in the order of help.
func All() []*Option { return table }

// Find returns the option with a name, or nil.
func Find(name string) *Option {
	if i := slices.IndexFunc(table, func(o *Option) bool { return o.Name == name }); i >= 0 {
		return table[i]
	}
	return nil
}

// Variable is the environment variable that sets an option.
func (o *Option) Variable() string { return "VERITY_" + strings.ToUpper(o.FormField()) }

// FormField is the name in requests. It has underscores, as OpenAI's fields do.
func (o *Option) FormField() string { return strings.ReplaceAll(o.Name, "-", "_") }

// DefaultText is the default in the form that Parse returns.
func (o *Option) DefaultText() string {
	switch {
	case o.Default != "":
		return o.Default
	case o.Kind == Switch:
		return "false"
	case o.Kind == Whole || o.Kind == Unsigned || o.Kind == Real:
		return "0"
	}
	return ""
}

// Parse reads the text of an option. The error states what is wanted; the caller adds the name
// of the option and the text.
func (o *Option) Parse(text string) (v Value, err error) {
	if v, err = o.parse(text); err != nil && o.Hint != "" && !errors.As(err, new(rangeError)) {
		err = fmt.Errorf("%w; %s", err, o.Hint)
	}
	return v, err
}

func (o *Option) parse(text string) (v Value, err error) {
	v.Text = text
	if o.None && strings.EqualFold(text, "none") {
		return Value{Text: "none", Off: true}, nil
	}
	if o.Kind == Switch || o.BareValue != "" { // all the words for on and off; the last choice is off or never
		switch strings.ToLower(text) {
		case "true", "on", "yes":
			text = cmp.Or(o.BareValue, "true")
		case "false", "off", "no":
			text = append([]string{"false"}, o.Choices...)[len(o.Choices)]
		}
		v.Text = text
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
		return o.parseNumber(text)
	case Text:
		if len(text) > int(o.Max) {
			return v, fmt.Errorf("got %d bytes, want at most %d", len(text), int(o.Max))
		}
	case Choice:
		if !slices.Contains(o.Choices, text) {
			return v, fmt.Errorf("want %s%s", show.JoinOr(o.Choices), nearest(text, o.Choices))
		}
	}
	if o.Check != nil {
		err = o.Check(text)
	}
	return v, err
}

// parseNumber reads a number within the bounds.
func (o *Option) parseNumber(text string) (v Value, err error) {
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
	// NaN fails these comparisons.
	inside := v.Number >= o.Min && v.Number <= o.Max && !(o.Above && v.Number == o.Min)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(v.Number) {
		want := map[Kind]string{Whole: "a whole number ", Real: "a number "}[o.Kind] + o.Range()
		switch {
		case o.Kind == Time:
			want = "a time with its unit, such as 90s, 10m or 1h30m"
		case slices.Contains(units, o.Arg) && strings.ContainsAny(text[:min(len(text), 1)], "0123456789"): // 5MB
			want += "; the number alone, without a unit"
		}
		return v, errors.New("want " + want)
	}
	if err != nil || !inside {
		return v, rangeError("must be " + o.Range())
	}
	return v, nil
}

// A rangeError is the error of a number out of its range.
type rangeError string

func (e rangeError) Error() string { return string(e) }

// nearest ends an error about a word that is like one of several; it is empty without such a word.
func nearest(word string, words []string) string {
	near := wer.Nearest(strings.ToLower(word), words)
	if len(near) == len(words) {
		return ""
	}
	return DidYouMean(near)
}

// units are names of values in help that are units of numbers.
var units = []string{"seconds", "ms", "MiB"}

// Range describes the accepted numbers; it is empty for other kinds of options.
func (o *Option) Range() string {
	if o.Kind != Whole && o.Kind != Real && o.Kind != Time {
		return ""
	}
	format := "from %s to %s"
	if o.Above {
		format = "above %s, up to %s"
	}
	text := fmt.Sprintf(format, o.format(o.Min), o.format(o.Max))
	if slices.Contains(units, o.Arg) {
		text += " " + o.Arg
	}
	if o.None {
		text += ", or none"
	}
	return text
}

// format writes a number as Parse reads it.
func (o *Option) format(x float64) string {
	if o.Kind != Time {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := time.Duration(x * float64(time.Second)).String() // such as 6h0m0s
	text = strings.TrimSuffix(strings.Replace(text, "m0s", "m", 1), "0s")
	return cmp.Or(strings.Replace(text, "h0m", "h", 1), "0")
}

// or returns the number for a field whose zero means its default, and off for "none". An
// explicit 0 becomes the smallest nonzero number on the side of off; no measured value lies
// between the two.
func (v Value) or(off float64) float64 {
	switch {
	case v.Off:
		return off
	case v.Number == 0:
		return math.Copysign(math.SmallestNonzeroFloat64, off)
	}
	return v.Number
}

// Duration returns a time.
func (v Value) Duration() time.Duration { return time.Duration(v.Number * float64(time.Second)) }

// OrNone returns the number for a field whose zero means its default and whose -1 means none.
func (v Value) OrNone() int {
	if v.Number == 0 {
		return -1
	}
	return int(v.Number)
}

// gotPart returns ", got PART" for the wrong part of a list; nothing if it is the whole list.
func gotPart(part, list string) string {
	if part == list {
		return ""
	}
	return ", got " + cmp.Or(part, `""`)
}

// checks makes the check of an option from the function that reads its text.
func checks[T any](read func(text string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := read(text)
		return err
	}
}

// Upper bounds that follow from the model or from memory.
const (
	maxTokens    = 448      // in a window with its prompt, in every published model
	maxPositions = 1500     // of the encoder in a window
	maxSequences = 64       // of a search; each has its own keys and values
	maxBatch     = 1024     // utterances in progress at the same time
	maxSeconds   = 1e6      // seconds of audio: eleven days
	maxPrompt    = 64 << 10 // bytes; a model reads 224 tokens of them
	maxLine      = 1000     // characters
	maxPath      = 4096     // bytes
	maxHour      = 3600e3   // ms
	maxMonth     = 30 * 86400
)

const anywhere = Configurable | Server | Request

// zero is what the library does by default; the table takes its defaults from there.
var zero = transcribe.Options{}.WithDefaults()

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// sections are the options in the order of help. With -h, a section is under the heading short, if there is one.
var sections = []struct {
	title, short string
	options      []*Option
}{
	{"Dataset", "", datasetRows},
	{"Runs", "Dataset", runRows},
	{"Input", "", inputRows},
	{"Output", "", outputRows},
	{"Subtitles", "", subtitleRows},
	{"Model", "", modelRows},
	{"Text", "Model", textRows},
	{"Voice activity", "Model", voiceRows},
	{"Search and thresholds", "Model", searchRows},
	{"Speed", "", speedRows},
	{"Drafting (changes only speed)", "Speed", draftRows},
	{"Serving", "", servingRows},
	{"Report", "", reportRows},
	{"Log", "Output", logRows},
	{"As in other programs", "", otherRows},
}

// duration writes a whole number of hours.
func duration(d time.Duration) string { return strconv.Itoa(int(d.Hours())) + "h" }
