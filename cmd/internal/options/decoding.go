package options

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"verity/assistant"
	"verity/audio"
	"verity/audio/vad"
	"verity/diarize"
	"verity/internal/input"
	"verity/internal/show"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// A Decoding collects the values of options that become transcribe.Options.
//
// A request uses only the embedded Options and does not call Result. Only temperature sets a
// field outside them, and the server reads that itself.
//
// The set functions ignore errors, since Parse has checked the text.
type Decoding struct {
	transcribe.Options

	first     float64 // temperature
	increment Value
	vadOn     bool
	vad       vad.Options
}

// Result returns the collected options, with a log.
func (d *Decoding) Result(log *slog.Logger) transcribe.Options {
	o := d.Options
	o.Log = log
	o.Temperatures = ladder(d.first, d.increment)
	if d.vadOn {
		v := d.vad
		o.VAD = &v
	}
	return o
}

// ladder returns the temperatures from first to 1 in steps of increment; only first if the
// increment is off. Commands without the option use its default.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, cli.
func ladder(first float64, increment Value) []float64 {
	list := []float64{first}
	if increment.Off {
		return list
	}
	step := cmp.Or(increment.Number, zero.Temperatures[1]-zero.Temperatures[0])
	for i := 1; ; i++ {
		t := math.Round((first+float64(i)*step)*1e9) / 1e9 // 0.6, not 0.6000000000000001
		if t > 1+1e-6 {
			return list
		}
		list = append(list, t)
	}
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

func checkLanguage(text string) error {
	if strings.EqualFold(text, "auto") {
		return nil
	}
	for one := range strings.SplitSeq(plainLanguages(text), ",") {
		// A checkpoint may know further languages by their codes.
		if len(one) > 3 && !tokenizer.IsKnownLanguage(one) {
			return fmt.Errorf("want the code or name of a language, such as en or English; several, such as en,de; or auto%s%s; verity info lists them",
				gotPart(one, text), nearestLanguage(one))
		}
	}
	return nil
}

// ownNames are the names of languages in themselves, and what Whisper and package language do not know.
var ownNames = map[string]string{
	"ger": "de", "fre": "fr", "dut": "nl", // older codes of films
	"deutsch": "de", "français": "fr", "francais": "fr", "español": "es", "espanol": "es", "italiano": "it", "nederlands": "nl",
	"português": "pt", "portugues": "pt", "polski": "pl", "svenska": "sv", "dansk": "da", "norsk": "no", "suomi": "fi",
	"čeština": "cs", "magyar": "hu", "türkçe": "tr", "русский": "ru", "українська": "uk", "ελληνικά": "el", "日本語": "ja",
	"한국어": "ko", "中文": "zh",
}

// plainLanguages returns languages as Whisper names them: without regions, as in en-US, and for ger, deu and Deutsch de.
func plainLanguages(list string) string {
	languages := strings.Split(list, ",")
	for i, l := range languages {
		l = strings.TrimSpace(l)
		languages[i] = l
		code, _, _ := strings.Cut(strings.ReplaceAll(l, "_", "-"), "-")
		if base, err := language.ParseBase(code); err == nil && len(code) < 4 && !tokenizer.IsKnownLanguage(code) {
			code = base.String()
		}
		code = cmp.Or(ownNames[strings.ToLower(code)], code)
		if len(code) < 4 && tokenizer.IsKnownLanguage(code) {
			languages[i] = code
		}
	}
	return strings.Join(languages, ",")
}

// nearestLanguage ends an error about a language with names that are like it.
func nearestLanguage(text string) string {
	var names []string
	for _, l := range tokenizer.KnownLanguages() {
		names = append(names, strings.ToLower(l.Name))
	}
	return nearest(text, names)
}

func setLanguage(d *Decoding, v Value) {
	if d.Language = plainLanguages(v.Text); strings.EqualFold(v.Text, "auto") {
		d.Language = ""
	}
}

// Speakers parses the value of speakers. Voices is nil unless speakers are identified by voice.
func Speakers(text string) (s struct {
	Channels bool
	Voices   *diarize.Options
}, err error) {
	switch text {
	case "one":
	case "channels":
		s.Channels = true
	default:
		voices, wrong := diarize.Parse(text)
		if s.Voices, err = &voices, wrong; wrong != nil {
			err = fmt.Errorf("%w; channels, or one", wrong)
		}
	}
	return s, err
}

// Subtitles reads the value of subtitles: a preset, limits, or both, as in netflix,cps=15.
func Subtitles(text string) (s transcript.Subtitles, err error) {
	rules, limits, _ := strings.Cut(text, ",")
	if strings.Contains(rules, "=") {
		rules, limits = "on", text
	}
	preset, known := transcript.Preset(rules)
	switch s = preset; {
	case rules == "off" && limits == "":
		return s, nil
	case rules == "on":
		s.Composed = true
	case !known:
		all := append([]string{"off", "on"}, transcript.Presets()...)
		return s, fmt.Errorf("want %s%s%s", show.JoinOr(all), gotPart(rules, text), nearest(rules, all))
	}
	for limit := range strings.SplitSeq(limits, ",") {
		if limits == "" {
			break
		}
		if err := setLimit(&s, limit); err != nil {
			return s, err
		}
	}
	if least, most := s.Durations(); least > most {
		return s, fmt.Errorf("min, %v s, is more than max, %v s", least.Seconds(), most.Seconds())
	}
	return s, nil
}

// setLimit sets a limit of subtitles, such as cps=15.
func setLimit(s *transcript.Subtitles, text string) error {
	name, number, _ := strings.Cut(text, "=")
	v, err := strconv.ParseFloat(number, 64)
	seconds := time.Duration(v * float64(time.Second))
	inside := func(most float64) bool { return err == nil && v > 0 && v <= most }
	switch {
	case name == "cps" && inside(line):
		s.MaxCPS = v
	case name == "gap" && err == nil && v == 0:
		s.MinGap = -1
	case name == "gap" && inside(10):
		s.MinGap = seconds
	case name == "min" && inside(60):
		s.MinDuration = seconds
	case name == "max" && inside(3600):
		s.MaxDuration = seconds
	default:
		return fmt.Errorf("want limits such as cps=17,gap=0.08,min=1,max=7: characters per second up to %d, the others in "+
			"seconds up to 10, 60 and 3600, got %s", line, cmp.Or(text, `""`))
	}
	return nil
}

// Lines is the format of TXT with a line for each segment.
const Lines = transcript.Format("lines")

// Formats reads the value of output-format. Lines becomes TXT, and lines is true.
func Formats(text string) (list []transcript.Format, lines bool, err error) {
	if text == "all" {
		return transcript.Formats(), false, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		f := transcript.Format(cmp.Or(formatAliases[name], name))
		if f == Lines {
			f, lines = transcript.TXT, true
		}
		if !slices.Contains(transcript.Formats(), f) {
			all := append(formats()[1:], "all")
			return nil, false, fmt.Errorf("want %s%s%s", show.JoinOr(all), gotPart(name, text), nearest(name, all))
		}
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list, lines, nil
}

func checkFormats(text string) error {
	_, _, err := Formats(text)
	return err
}

// formatAliases are other names of formats.
var formatAliases = map[string]string{"webvtt": "vtt", "ssa": "ass", "subtitles": "srt", "text": "txt", "word": "docx", "markdown": "md"}

// readTerms reads the file that terms names.
func readTerms(path string) ([]transcribe.Term, error) {
	if path == "" {
		return nil, nil
	}
	text, err := input.Read(context.Background(), path, transcribe.MaxTermsText)
	if err != nil {
		return nil, fmt.Errorf("%w; want a file with a name or term on each line", input.Cause(err))
	}
	return transcribe.ParseTerms(string(text))
}

// checks makes the check of an option from the function that reads its text.
func checks[T any](read func(text string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := read(text)
		return err
	}
}

// Spans reads start,end,start,end,… in seconds; the last end may be missing.
func Spans(text string) (list []transcribe.Span, err error) {
	if text == "" || text == "0" {
		return nil, nil
	}
	var times []float64
	for field := range strings.SplitSeq(text, ",") {
		v, err := clock(strings.TrimSpace(field))
		if err != nil || !(v >= 0 && v <= longest) {
			return nil, fmt.Errorf("want start,end,… as seconds, 1:30 or 1:02:30%s", gotPart(field, text))
		}
		times = append(times, v)
	}
	if len(times)%2 == 1 {
		times = append(times, math.Inf(1))
	}
	for i := 0; i < len(times); i += 2 {
		if times[i+1] < times[i] {
			return nil, fmt.Errorf("the part from %v s ends before it begins, at %v s", times[i], times[i+1])
		}
		if i > 0 && times[i] < times[i-1] {
			return nil, fmt.Errorf("the part from %v s begins before the previous one ends, at %v s", times[i], times[i-1])
		}
		list = append(list, transcribe.Span{Start: times[i], End: times[i+1]})
	}
	return list, nil
}

// clock reads seconds, or minutes:seconds, or hours:minutes:seconds.
func clock(text string) (seconds float64, err error) {
	for part := range strings.SplitSeq(text, ":") {
		v, wrong := strconv.ParseFloat(part, 64)
		seconds, err = 60*seconds+v, cmp.Or(err, wrong)
	}
	return seconds, err
}

func setSpans(d *Decoding, v Value) { d.Spans, _ = Spans(v.Text) }

// tokenIDs reads ids between commas. It returns nil for auto, the list of the model.
func tokenIDs(text string) ([]tokenizer.Token, error) {
	if text == "auto" {
		return nil, nil
	}
	list := []tokenizer.Token{} // not nil: an empty list suppresses nothing
	for field := range strings.SplitSeq(text, ",") {
		if field == "" {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("want auto or token ids separated by commas%s", gotPart(field, text))
		}
		list = append(list, tokenizer.Token(v))
	}
	return list, nil
}

func setTokens(d *Decoding, v Value) { d.SuppressTokens, _ = tokenIDs(v.Text) }

// expression reads a regular expression.
func expression(text string) (*regexp.Regexp, error) {
	e, err := regexp.Compile(text)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("want a regular expression; this one has a %s: %s", wrong.Code, wrong.Expr)
	}
	return e, err
}

func setExpression(d *Decoding, v Value) {
	if d.SuppressExpression = nil; v.Text != "" {
		d.SuppressExpression, _ = expression(v.Text)
	}
}

func checkContext(text string) error {
	if text == "all" || text == "fit" {
		return nil
	}
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > positions {
		return fmt.Errorf("want a number of positions from 1 to %d, fit or all", positions)
	}
	return nil
}

func setContext(d *Decoding, v Value) {
	switch v.Text {
	case "all":
		d.AudioContext = 0
	case "fit":
		d.AudioContext = transcribe.FitAudioContext
	default:
		d.AudioContext, _ = strconv.Atoi(v.Text)
	}
}

func setPad(d *Decoding, v Value) {
	if d.Pad = audio.PadAudio; v.Text == "mel" {
		d.Pad = audio.PadMel
	}
}

func setPenalty(d *Decoding, v Value) {
	if d.LengthPenalty = nil; !v.Off {
		d.LengthPenalty = &v.Number
	}
}

// setRepetition keeps a number that is too small for 32 bits from becoming 0, which would turn
// the penalty off.
func setRepetition(d *Decoding, v Value) {
	d.Repetition.Penalty = float32(v.Number)
	if d.Repetition.Penalty == 0 && v.Number != 0 {
		d.Repetition.Penalty = math.SmallestNonzeroFloat32
	}
}

func setSeed(d *Decoding, v Value) { d.Seed, _ = strconv.ParseUint(v.Text, 10, 64) }

// ParsePrecision is [precision.Parse] with an error that leaves out the text.
func ParsePrecision(text string) (precision.Precision, error) {
	p, err := precision.Parse(text)
	if err != nil && !strings.Contains(text, ":") {
		_, want, _ := strings.Cut(err.Error(), ": ")
		err = errors.New(want)
	}
	return p, err
}

// ParseDraft reads the value of draft-tokens. It returns a function that makes the policy of a
// sequence, or nil for auto.
func ParseDraft(text string) (func() assistant.Policy, error) {
	wrong := errors.New("want auto, a number from 0 to 64, heuristic or confidence; either may be followed by :NUMBER")
	policy, number, more := strings.Cut(text, ":")
	switch {
	case text == "auto":
		return nil, nil
	case policy != "heuristic" && policy != "confidence":
		policy, number, more = "constant", text, true
	}
	n := 0 // the default
	if more {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 0 || n > 64 {
			return nil, wrong
		}
	}
	return func() assistant.Policy {
		switch policy {
		case "heuristic":
			return assistant.Heuristic(n)
		case "confidence":
			return assistant.Confidence(n)
		}
		return assistant.Constant(n)
	}, nil
}
