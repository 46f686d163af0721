package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/cmd/internal/options"
)

//go:embed habits.tsv
var habitsFile string

// A Habit is a word of another program's command line and what it means here.
type Habit struct {
	Program, Word string
	Ours          string // the same in Verity's words
	Note          string // what to do instead, where nothing is the same
}

// Habits returns the rows of habits.tsv by their words.
var Habits = sync.OnceValue(func() map[string]Habit {
	habits := map[string]Habit{}
	for line := range strings.Lines(habitsFile) {
		if !strings.HasPrefix(line, "#") {
			f := append(strings.Split(strings.TrimSpace(line), "\t"), "", "")
			habits[f[1]] = Habit{f[0], f[1], f[2], f[3]}
		}
	}
	return habits
})

// clipFlags are whisper.cpp's flags of the part to transcribe, in milliseconds: 0 where it starts, 1 how long it is.
var clipFlags = map[string]int{"-ot": 0, "--offset-t": 0, "--offset_t": 0, "-d": 1, "--duration": 1}

// Translate replaces the words of other programs in a command line, and says in notes what has no effect. On an error,
// which says what to use instead, the command line still begins with the command.
func Translate(root *cobra.Command, args []string) (out, notes []string, err error) {
	for n := min(len(args), 2); n > 0; n-- {
		h, ok := Habits()[strings.Join(args[:n], " ")]
		if ok && h.Ours != "" && !strings.HasPrefix(args[n-1], "-") {
			args = slices.Concat(strings.Fields(h.Ours), args[n:])
			break
		}
	}
	c, _, err := root.Find(args)
	if err != nil || c == root {
		return args, nil, nil
	}
	formats := -1 // index of the value of -f, which collects -f srt -ovtt
	values := map[string]string{}
	var clip [2]int
	var wrong []string
	needHelp := false
	for len(args) > 0 && args[0] != "--" {
		if i, ok := clipFlags[args[0]]; ok && len(args) > 1 && c.Flags().Lookup("clip-timestamps") != nil {
			if clip[i], err = strconv.Atoi(args[1]); err == nil {
				args = args[2:]
				continue
			}
		}
		again := ""
		ours, n, note, err := translateFlag(c, args)
		if err == nil && len(ours) > 0 {
			hasNumber := values["speakers"] != "" && strings.Trim(values["speakers"], "0123456789") == ""
			if hasNumber && ours[0] == "--speakers" && ours[1] == "voice" && flagOf(c, args[0]) == nil {
				ours = nil // --diarize after --num-speakers, which means voices already
			} else {
				again, err = repeated(c, args[0], ours, values)
			}
		}
		if err != nil {
			usage, _ := errors.AsType[UsageError](err)
			needHelp = needHelp || usage.NeedHelp
			wrong, out, args = append(wrong, err.Error()), append(out, args[0]), args[1:]
			continue
		}
		for _, s := range []string{note, again} {
			if s != "" && !slices.Contains(notes, s) {
				notes = append(notes, s)
			}
		}
		args = args[n:]
		isFormat := false
		if f := c.Flags().Lookup("output-format"); f != nil && len(ours) > 0 && flagOf(c, ours[0]) == f {
			ours = slices.Concat(strings.SplitN(ours[0], "=", 2), ours[1:])
			isFormat = len(ours) > 1
		}
		switch {
		case isFormat && formats >= 0:
			out[formats] += "," + ours[1]
			ours = ours[2:]
		case isFormat:
			formats = len(out) + 1
		}
		out = append(out, ours...)
	}
	if i := slices.Index(out, "{srt}"); i >= 0 && formats < 0 {
		out = slices.Insert(out, i, "-f", "srt")
	}
	out = slices.DeleteFunc(out, func(word string) bool { return word == "{srt}" })
	if clip != [2]int{} {
		times := fmt.Sprint(float64(clip[0]) / 1000)
		if clip[1] > 0 {
			times += fmt.Sprintf(",%v", float64(clip[0]+clip[1])/1000)
		}
		out = append(out, "--clip-timestamps", times)
	}
	if out = append(out, args...); len(wrong) > 0 {
		return out, nil, UsageError{Err: errors.New(strings.Join(wrong, "\n"+c.CommandPath()+": ")), NeedHelp: needHelp}
	}
	return out, notes, nil
}

// repeated returns a note on a flag that has had another value. As in Python's programs, the last counts; several models
// of a measurement are an error.
func repeated(c *cobra.Command, typed string, ours []string, values map[string]string) (note string, err error) {
	if ours[0] == "{srt}" {
		ours = ours[1:]
	}
	_, value, joined := strings.Cut(ours[0], "=")
	f := flagOf(c, ours[0])
	if f == nil || optionOf(f) == nil || collects(c, f.Name) {
		return "", nil
	}
	if !joined && f.NoOptDefVal == "" && len(ours) > 1 {
		value = ours[1]
	}
	before, ok := values[f.Name]
	isVoices := f.Name == "speakers" && before == "voice" // a number means voices, too
	if values[f.Name] = value; !ok || before == value || isVoices {
		return "", nil
	}
	if f.Name == "model" && c.GroupID == "Measure" {
		return "", Usagef("--model is given more than once: run verity eval with each model, and verity report on the results")
	}
	name := "--" + f.Name
	if flagOf(c, typed) == nil {
		typed, _, _ = strings.Cut(typed, "=")
		name = typed + ", here " + name + ","
	}
	return name + " is given more than once: the last value counts", nil
}

// collects reports whether a flag of a command has all the values that it is given.
func collects(c *cobra.Command, flag string) bool {
	switch c.Name() {
	case "compare":
		return flag == "assistant" || flag == "draft-tokens"
	case "serve":
		return flag == "model" || flag == "origin" || flag == "alias"
	}
	return flag == "output-format"
}

// flagOf returns the flag of a command that an argument sets; nil for none.
func flagOf(c *cobra.Command, arg string) *pflag.Flag {
	word, _, _ := strings.Cut(arg, "=")
	switch {
	case strings.HasPrefix(word, "--"):
		return c.Flags().Lookup(string(Dashes(nil, word[2:])))
	case len(word) == 2 && word[0] == '-':
		return c.Flags().ShorthandLookup(word[1:])
	}
	return nil
}

// WritesFile reports whether a command line asks for a format as another program does that writes it to a file:
// -osrt, or --output_format with an underscore.
func WritesFile(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		word, _, _ := strings.Cut(arg, "=")
		h := Habits()[string(Dashes(nil, word))]
		return word == "--output_format" || h.Program == "whisper.cpp" && strings.HasPrefix(h.Ours, "-f ")
	})
}

// translateFlag returns the translation of the first n of some arguments, and what to say about it.
func translateFlag(c *cobra.Command, args []string) (ours []string, n int, note string, err error) {
	word, value, joined := strings.Cut(args[0], "=")
	if len(word) < 2 || word[0] != '-' {
		return args[:1], 1, "", nil
	}
	n = 1
	if !joined && len(args) > 1 {
		value, n = args[1], 2
	}
	typed, f := word, flagOf(c, word)
	if strings.HasPrefix(word, "--") {
		word = string(Dashes(nil, word))
	}
	h, exact := habitOf(c, word+" "+value)
	known := exact
	if !exact && f == nil {
		h, known = habitOf(c, word)
	}
	unknown := h.Ours == "" && h.Note != "" // it means nothing here
	switch {
	case exact && unknown:
		return nil, 0, "", fmt.Errorf("%s %s: %s", word, value, h.Note)
	case exact:
		return h.words(), n, h.noteOf(typed), nil
	case n == 2 && truth(value) == "" && isSwitch(c, f, h, known) && (isAnswer(value) || f != nil && typed != word && isWord(value)):
		// Python's spelling has a value
		return nil, 0, "", fmt.Errorf("%s %s: want True or False", typed, value)
	case f != nil:
		ours, n = ownFlag(f, word, value, joined, args[:n])
		return ours, n, "", nil
	case !known && c.Flags().Lookup(word[1:]) != nil: // -model small
		return []string{"-" + args[0]}, 1, "", nil
	case !known && strings.HasPrefix(word, "--") && word != "--help":
		return nil, 0, "", unknownFlag(c, typed)
	case !known:
		return args[:1], 1, "", nil
	case truth(value) == "false" && h.Ours != "{value}":
		return nil, n, "", nil
	case unknown && strings.HasPrefix(h.Note, "want "):
		return nil, 0, "", fmt.Errorf("%s %s: %s", typed, value, h.Note)
	case unknown && isWord(value) && takesTruth(word):
		return nil, 0, "", fmt.Errorf("%s %s: want True or False; or %s", typed, value, h.Note)
	case unknown:
		return nil, 0, "", fmt.Errorf("there is no flag %s: %s", typed, h.Note)
	case truth(value) == "true" || strings.Contains(h.Ours, "{value}"):
		return h.words(), n, h.noteOf(typed), nil
	case strings.Contains(h.Ours, "{flag}"):
		return nil, 1, h.noteOf(typed), nil
	case strings.Contains(h.Ours, "{base}") && value == "-": // standard output
		return nil, n, "", nil
	}
	ours = h.words()
	if strings.Contains(h.Ours, "{base}") {
		for i := range ours {
			ours[i] = strings.NewReplacer("{dir}", filepath.Dir(value), "{base}", filepath.Base(value)).Replace(ours[i])
		}
		return ours, n, "", nil
	}
	last := c.Flags().Lookup(strings.TrimPrefix(h.Ours[strings.LastIndex(h.Ours, " ")+1:], "--"))
	takes := last != nil && last.NoOptDefVal == "" && n == 2
	if !joined && !takes {
		return ours, 1, h.noteOf(typed), nil
	}
	if last != nil && optionOf(last) != nil {
		if _, err := optionOf(last).Parse(value); err != nil {
			return nil, 0, "", fmt.Errorf("%s %s: %w", typed, value, err) // in the words of the command line
		}
	}
	return append(ours, value), n, h.noteOf(typed), nil
}

// words returns the translation without its marks of what is left out.
func (h Habit) words() []string {
	return strings.Fields(strings.NewReplacer("{flag}", "", "{value}", "").Replace(h.Ours))
}

// noteOf returns the warning about a flag, as it was typed; empty for none.
func (h Habit) noteOf(typed string) string {
	switch words := h.words(); {
	case h.Note == "":
		return ""
	case len(words) == 0:
		return typed + " has no effect: " + h.Note
	default:
		return typed + " is " + strings.Join(words, " ") + " here: " + h.Note
	}
}

// truth returns Python's True and False in the form of flags; empty for another word.
func truth(word string) string {
	if w := strings.ToLower(word); (w == "true" || w == "false") && !exists(word) {
		return w
	}
	return ""
}

// isAnswer reports whether an argument answers yes or no, and is not the name of a file.
func isAnswer(arg string) bool {
	return slices.Contains([]string{"yes", "no", "on", "off", "y", "n", "0", "1"}, strings.ToLower(arg)) && !exists(arg)
}

// takesTruth reports whether another program's flag takes True or False.
func takesTruth(word string) bool {
	_, ok := Habits()[word+" True"]
	return ok
}

// isSwitch reports whether a flag is on or off: one of ours, or the habit that it is.
func isSwitch(c *cobra.Command, f *pflag.Flag, h Habit, known bool) bool {
	if f == nil && known {
		ours := strings.Fields(h.Ours)
		if h.Note != "" || len(ours) == 0 {
			return false
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(ours[0], "--"), "=")
		f = c.Flags().Lookup(name)
		return len(ours) == 2 || f != nil && f.NoOptDefVal != "" // -f srt, or --vad
	}
	return f != nil && f.NoOptDefVal == "true"
}

// isWord reports whether an argument is neither a flag nor like the name of a file.
func isWord(arg string) bool {
	return arg != "" && !strings.ContainsAny(arg, `-./\:*?[`) && !exists(arg)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// habitOf looks a word up, first as one of a command.
func habitOf(c *cobra.Command, word string) (Habit, bool) {
	h, ok := Habits()[c.Name()+" "+word]
	if !ok {
		h, ok = Habits()[word]
	}
	return h, ok
}

// ownFlag accepts a flag of ours as other programs write it: Python's True and False, a value
// after a flag that wants an equals sign, and -f before a sound file. The arguments are the
// flag, written as word, and the one after it, which may not be its value.
func ownFlag(f *pflag.Flag, word, value string, joined bool, args []string) (ours []string, n int) {
	truth := truth(value)
	switch o := optionOf(f); {
	case f.NoOptDefVal == "true" && truth != "":
		return []string{word + "=" + truth}, len(args)
	case f.Name == "output-format" && isSound(value):
		return []string{value}, len(args)
	case f.NoOptDefVal == "":
		return args, len(args)
	case o == nil || o.BareValue == "" || strings.ContainsAny(value, `-./\`):
		return args[:1], 1
	case joined && truth == "" || !joined && len(args) == 1:
		return args[:1], 1
	case truth == "true":
		value = o.BareValue
	case truth == "false":
		value = "off"
	}
	if !joined && exists(value) {
		return args[:1], 1
	}
	return []string{word + "=" + value}, len(args)
}

// isSound reports whether the word after -f is a sound file, not a format.
func isSound(word string) bool {
	if _, err := options.Formats(word); err == nil {
		return false
	}
	info, err := os.Stat(word)
	return word == "-" || err == nil && info.Mode().IsRegular() || audio.HasEnding(word)
}
