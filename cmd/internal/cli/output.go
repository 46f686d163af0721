package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/internal/show"
	"verity/transcript"
)

// The options under the heading Output.
var outputRows = []*Option{
	{Name: "output-format", Short: "f", Kind: List, Arg: "formats", Choices: formats(),
		Check: func(text string) error { _, _, err := Formats(text); return err },
		Scope: Configurable, Common: true,
		Help: "one or more of txt (paragraphs), lines (txt with a line for each segment, as in openai-whisper), md (Markdown), docx (Word), srt, vtt, ass, tsv and csv (times in milliseconds), lrc, json and " +
			"rttm (who speaks when), separated by commas, or all (rttm only with --speakers; default txt)"},
	{Name: "output-dir", Short: "o", Kind: Text, Arg: "directory", Max: maxPath, Scope: Configurable, Common: true,
		Help: "write files to this directory instead of standard output"},
	{Name: "name", Kind: Text, Arg: "pattern", Default: "{name}", Max: 200, Scope: Configurable, Needs: "output-dir",
		Common: true,
		Help: "names of the output files. {name} is the name of the audio file, and {language} the language of the text: " +
			"{name}.{language} for film.nl.srt. A single file may have any name"},
	{Name: "force", Needs: "output-dir", Excludes: "skip-existing", Common: true, Help: "overwrite existing files"},
	{Name: "skip-existing", Needs: "output-dir", Common: true,
		Help: "keep existing files, and skip audio files that already have all their outputs; where {language} is detected, in " +
			"any language"},
	{Name: "timestamps", Scope: Configurable, Formats: []transcript.Format{transcript.TXT, transcript.MD, transcript.DOCX},
		Common: true,
		Help: "write start and end times before the text of each segment, with --word-timestamps of " +
			"each sentence; in md and docx, the start of each paragraph"},
	{Name: "stats", Scope: Configurable,
		Help: "print statistics for each file to standard error: tokens, drafts, times, memory traffic"},
	{Name: "show-drafts", Kind: Choice, Arg: "when", Default: "never", BareValue: "auto",
		Choices: []string{"auto", "always", "never"}, Scope: Configurable,
		Help: "highlight text drafted by the assistant: auto (on a terminal; also the bare flag), always or never. " +
			"With NO_COLOR it is underlined"},
	{Name: "progress", Kind: Choice, Arg: "when", Default: "auto", BareValue: "always",
		Choices: []string{"auto", "always", "never"}, Scope: Configurable,
		Help: "show progress: auto (a bar on a terminal), always (also the bare flag; a line every ten seconds if not " +
			"on a terminal) or never"},
}

// The options under the heading Subtitles.
var subtitleRows = []*Option{
	{Name: "word-timestamps", Scope: Configurable | Server, Field: "WordTimestamps", Formats: timed,
		Set: func(d *Decoding, v Value) { d.WordTimestamps = v.On }, Common: true,
		Help: "time every word in a second pass over the final text; segments then start and end with their words"},
	{Name: "align", Kind: Text, Arg: "path", Max: maxPath, Needs: "word-timestamps", Common: true,
		Help: "write an existing text instead, word for word, with the times of its words in the audio, and report where the two differ\n" +
			"txt, srt, vtt, or json from verity, openai-whisper or whisper.cpp; the times of subtitles may be wrong, their lines stay\n" +
			"a directory with a text of the same name for each audio file, or beside: next to the audio files"},
	{Name: "subtitles", Kind: List, Arg: "rules", Default: "off", BareValue: "on",
		Choices: slices.Concat([]string{"on"}, transcript.Presets(), []string{"off"}), Check: checks(Subtitles),
		Scope: Configurable, Needs: "word-timestamps", Excludes: "max-words-per-line", Formats: subtitles, Common: true,
		Help: "format subtitles for reading: break at sentences, clauses and pauses, with two lines of 42 characters, " +
			"each subtitle shown for at least a second and long enough to read 17 characters a second. bbc, netflix and " +
			"ted select the rules of that service, youtube closes small gaps, shorts has one line of 20 characters. Limits may " +
			"follow, as in netflix,cps=15,gap=0.1,min=1,max=7: characters per second, and seconds between subtitles and that " +
			"each is shown. The format is srt unless -f specifies another"},
	{Name: "max-line-width", Kind: Whole, Arg: "characters", Max: maxLine, Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
		Help: "maximum characters per subtitle line; 0 means no limit"},
	{Name: "max-line-count", Kind: Whole, Arg: "lines", Max: maxLine, Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
		Help: "maximum lines per subtitle; 0 means no limit"},
	{Name: "highlight-words", Scope: Configurable, Needs: "word-timestamps", Formats: subtitles,
		Help: "underline each word as it is spoken, in srt, vtt and ass"},
}

// Formats of output.
var (
	subtitles = []transcript.Format{transcript.SRT, transcript.VTT, transcript.ASS}
	timed     = slices.DeleteFunc(transcript.Formats(), func(f transcript.Format) bool {
		return slices.Contains([]transcript.Format{transcript.TXT, transcript.MD, transcript.DOCX}, f)
	})
)

// formats returns the choices of output-format.
func formats() []string {
	names := []string{"all"}
	for _, f := range transcript.Formats() {
		names = append(names, string(f))
	}
	return slices.Insert(names, 2, string(Lines)) // after txt
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
	case name == "cps" && inside(maxLine):
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
			"seconds up to 10, 60 and 3600, got %s", maxLine, cmp.Or(text, `""`))
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

// formatAliases are other names of formats.
var formatAliases = map[string]string{"webvtt": "vtt", "ssa": "ass", "subtitles": "srt", "text": "txt", "word": "docx", "markdown": "md"}
