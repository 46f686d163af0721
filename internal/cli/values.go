package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"verity/parallel"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// oneOf refuses a value of a flag that is not one of those it takes.
func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usagef("--%s %s: want %s", flag, cmp.Or(value, `""`), either(values))
}

// either spells a choice: a, b or c.
func either(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// gotPart says which part of a list is wrong; nothing if it is all of it, which the
// message of the flag names.
func gotPart(part, list string) string {
	if part == list {
		return ""
	}
	return ", got " + cmp.Or(part, `""`)
}

// A number is a flag that "none" turns off, as in upstream's options of type
// optional_float.
type number struct {
	value float64
	off   bool
}

func (n *number) String() string {
	if n.off {
		return "none"
	}
	return strconv.FormatFloat(n.value, 'g', -1, 64)
}

func (n *number) Set(s string) error {
	if strings.EqualFold(s, "none") {
		*n = number{off: true}
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number or none")
	}
	*n = number{value: v}
	return nil
}

func (n *number) Type() string { return "number" }

// or returns the number for an option whose zero value means its default. It returns off
// if the flag is "none". A given 0 becomes the smallest nonzero number on the side of off;
// no measured value lies between the two.
func (n number) or(off float64) float64 {
	switch {
	case n.off:
		return off
	case n.value == 0:
		return math.Copysign(math.SmallestNonzeroFloat64, off)
	}
	return n.value
}

// A factor is a flag for a number of 32 bits. A number that is too small for them
// becomes the smallest nonzero one, since 0 would turn the option off.
type factor float32

func (f *factor) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 32) }

func (f *factor) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return err
	}
	if *f = factor(v); *f == 0 && v != 0 {
		*f = factor(math.Copysign(math.SmallestNonzeroFloat32, v))
	}
	return nil
}

func (f *factor) Type() string { return "float32" }

// tokenList is a flag for tokens to suppress.
type tokenList struct {
	set    bool
	tokens []tokenizer.Token
}

func (l *tokenList) String() string {
	if !l.set {
		return "auto"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(l.tokens), " ", ","), "[]")
}

func (l *tokenList) Set(s string) error {
	*l = tokenList{set: s != "auto"}
	if !l.set {
		return nil
	}
	l.tokens = []tokenizer.Token{} // not nil: nothing is suppressed
	for field := range strings.SplitSeq(s, ",") {
		if field == "" {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
		if err != nil {
			return fmt.Errorf("want auto or token ids between commas%s", gotPart(field, s))
		}
		l.tokens = append(l.tokens, tokenizer.Token(v))
	}
	return nil
}

func (l *tokenList) Type() string { return "ids" }

// audioContext is a flag for the number of encoder positions.
type audioContext int

func (a *audioContext) String() string {
	switch *a {
	case 0:
		return "all"
	case transcribe.FitAudioContext:
		return "fit"
	}
	return strconv.Itoa(int(*a))
}

func (a *audioContext) Set(s string) error {
	switch s {
	case "all":
		*a = 0
		return nil
	case "fit":
		*a = transcribe.FitAudioContext
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("want a number of positions from 1, fit or all")
	}
	*a = audioContext(n)
	return nil
}

func (a *audioContext) Type() string { return "positions" }

// spanList is a flag for the parts of the audio to read.
type spanList []transcribe.Span

func (l *spanList) String() string {
	if len(*l) == 0 {
		return "0"
	}
	return fmt.Sprint(*l)
}

// Set takes start,end,start,end,… in seconds; the last end may be missing.
func (l *spanList) Set(s string) error {
	*l = nil
	if s == "" {
		return nil
	}
	var times []float64
	for field := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || math.IsNaN(v) || v < 0 {
			return fmt.Errorf("want start,end,… in seconds%s", gotPart(field, s))
		}
		times = append(times, v)
	}
	if len(times)%2 == 1 {
		times = append(times, math.Inf(1))
	}
	for i := 0; i < len(times); i += 2 {
		if times[i+1] < times[i] {
			return fmt.Errorf("the part from %v s ends before that, at %v s", times[i], times[i+1])
		}
		*l = append(*l, transcribe.Span{Start: times[i], End: times[i+1]})
	}
	return nil
}

func (l *spanList) Type() string { return "times" }

// formatList is a flag for the formats to write.
type formatList []transcript.Format

func (l *formatList) String() string {
	names := make([]string, len(*l))
	for i, f := range *l {
		names[i] = string(f)
	}
	return strings.Join(names, ",")
}

func (l *formatList) Set(s string) error {
	*l = nil
	if s == "all" {
		*l = transcript.Formats()
		return nil
	}
	for name := range strings.SplitSeq(s, ",") {
		known := false
		for _, f := range transcript.Formats() {
			if string(f) == name {
				*l, known = append(*l, f), true
			}
		}
		if !known {
			return fmt.Errorf("want %s or all%s", formatNames(), gotPart(name, s))
		}
	}
	return nil
}

func (l *formatList) Type() string { return "formats" }

func formatNames() string {
	l := formatList(transcript.Formats())
	return strings.ReplaceAll(l.String(), ",", ", ")
}

// maxTemperature is the highest temperature that is accepted: at 2, hardly a word is
// right.
const maxTemperature = 2

// temperatures returns the ladder from first to 1 by steps of increment, first
// alone if that is none. Nil stands for the default ladder.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, cli.
func temperatures(first float64, increment number) ([]float64, error) {
	switch {
	case !(first >= 0 && first <= maxTemperature):
		return nil, usagef("--temperature %v: must be from 0 to %v; above 1 the text is mostly noise", first, maxTemperature)
	case increment.off:
		return []float64{first}, nil
	case !(increment.value > 0):
		return nil, usagef("--temperature-increment-on-fallback %v: must be positive, or none", increment.value)
	}
	ladder := []float64{first}
	for i := 1; len(ladder) < 1000; i++ {
		t := math.Round((first+float64(i)*increment.value)*1e9) / 1e9 // 0.6, not 0.6000000000000001
		if t > 1+1e-6 {
			break
		}
		ladder = append(ladder, t)
	}
	return ladder, nil
}

// maxBatch is the most utterances that may be under way at the same time.
const maxBatch = 1024

// checkBatch checks the flag --batch.
func checkBatch(n int) error {
	if n < 1 || n > maxBatch {
		return usagef("--batch %d: must be from 1 to %d; each file needs memory of its own", n, maxBatch)
	}
	return nil
}

// checkThreads checks the flag --threads.
func checkThreads(n int) error {
	if n < 0 || n > parallel.MaxThreads {
		return usagef("--threads %d: must be from 0 to %d; more threads than cores make it slower", n, parallel.MaxThreads)
	}
	return nil
}
