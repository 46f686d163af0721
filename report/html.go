package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"verity/internal/show"
	"verity/transcript"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(v float64) string { return hard(show.Percent(v)) }, "times": show.Times, "count": show.Count,
	"seconds":  func(v float64) string { return hard(show.Seconds(v)) },
	"percent1": func(v float64) string { return hard(fmt.Sprintf("%.1f %%", 100*v)) },
	"fixed2":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
	"share": func(a, b int) string {
		return hard(fmt.Sprintf("%.1f %%", 100*transcript.Ratio(float64(a), float64(b))))
	},
	"deref":    func(v *float64) float64 { return *v },
	"join":     func(s []string) string { return strings.Join(s, ", ") },
	"indented": func(s string) bool { return strings.HasPrefix(s, " ") },
	"bytes":    func(v int64) string { return hard(show.Bytes(v)) },
}).Parse(pageHTML))

// soft matches the spaces between a number and its unit, and those in a range.
var soft = regexp.MustCompile(`(\d) (%|µs|ms|s|min|h|bytes|kB|MB|GB)|(\d) – `)

// A line may break after a dash even if no space follows; a word joiner prevents that.
var hardSpaces = strings.NewReplacer("– ", "–\u2060\u00a0", " ", "\u00a0")

// hard keeps numbers and their units on one line.
func hard(s string) string {
	return soft.ReplaceAllStringFunc(s, func(m string) string { return hardSpaces.Replace(m) })
}

// hardRows returns the score table for the page.
func (d *Document) hardRows() [][]string { return hardCells(d.rows()) }

// hardCells keeps the numbers of a table on one line.
func hardCells(rows [][]string) [][]string {
	for _, r := range rows {
		for i := range r[1:] {
			r[i+1] = hard(r[i+1])
		}
	}
	return rows
}

// A page is the data of the page template.
type page struct {
	Title, Subtitle string
	Notes           []string
	CSS             template.CSS
	JS              template.JS
	Scores          []*Score
	Comparisons     []comparisonView
	Arms            [][]string // the first row is the header
	Replay          *replayView
	Bars            []barView
	Errors          []errorView
	Failures        []Failure
	Names           []string
	Rows            [][]string
	Runs            []runView
}

// HTML writes d as one self-contained page: no other file, no network.
func (d *Document) HTML(w io.Writer) error {
	p := page{
		Title: d.title(), Subtitle: d.subtitle(), Notes: d.notes(), CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Scores: d.Scores, Names: d.names(), Rows: d.hardRows(), Bars: d.bars(),
	}
	if d.Arms != nil {
		p.Arms, p.Replay = hardCells(d.armRows()), d.replay()
		p.Replay.listen(d.Sound)
	}
	for i, c := range d.Comparisons {
		v := viewOf(c, d.heading(i))
		if s := d.Scores[cmp.Or(c.arm, i+1)]; s.Scored > 0 {
			v.Interval = s.WERInterval.Span()
		}
		if d.Arms != nil {
			v.Replay = nil // the replay shows all arms at once
		}
		v.Replay.listen(d.Sound)
		p.Comparisons = append(p.Comparisons, v)
	}
	for i, s := range d.Scores {
		p.Runs = append(p.Runs, d.runView(s))
		p.Failures = append(p.Failures, s.Failures...)
		if s.Scored > 0 && (i == 0 || !d.same(i)) {
			p.Errors = append(p.Errors, errorsOf(s))
		}
	}
	if len(p.Errors) == 1 {
		p.Errors[0].Name = ""
	}
	return pageTemplate.Execute(w, p)
}

// subtitle names what was run.
func (d *Document) subtitle() string {
	s := d.Scores[0]
	parts := []string{show.Some(s.Utterances, "utterance") + ", " + show.Seconds(s.AudioSeconds) + " of audio"}
	if s.Run.Model != "" {
		parts = append(parts, "model "+shortName(s.Run.Model))
	}
	for _, s := range d.Scores {
		if s.Run.Assistant != "" {
			parts = append(parts, "assistant "+shortName(s.Run.Assistant))
			break
		}
	}
	if s.Run.Dataset != "" {
		parts = append(parts, shortName(s.Run.Dataset))
	}
	if s.Run.Machine != "" {
		parts = append(parts, s.Run.Machine)
	}
	return strings.Join(parts, " · ")
}

// Span formats an interval for the page.
func (i Interval) Span() string { return hard(i.span()) }

// Points formats a change of the word error rate for the page.
func (x *Change) Points() string { return hard(x.points()) }

// Labels returns the names of the two arms.
func (c *Comparison) Labels() Pair[string] { return c.labels() }

// Sentence states the verdict in words, with a capital.
func (c *Comparison) Sentence() string {
	s := c.sentence()
	return strings.ToUpper(s[:1]) + s[1:]
}

// A runView is how a set was made, for the page: labels and values.
type runView struct {
	Name  string
	Rows  [][2]string
	Usual [][2]string // options that have their defaults
}

// runView returns the facts of a set's run, and its options. Those without a value that
// have their default are left out.
func (d *Document) runView(s *Score) runView {
	r := s.Run
	v := runView{Name: s.Name, Rows: [][2]string{{"code", r.Code}, {"model", r.Model}, {"model id", r.ModelID}, {"precision", r.Precision},
		{"assistant", r.Assistant}, {"assistant precision", r.AssistantPrecision},
		{"dataset", r.Dataset}, {"machine", r.Machine}}}
	if r.Threads > 0 {
		v.Rows = append(v.Rows, [2]string{"threads", fmt.Sprint(r.Threads)})
	}
	v.Rows = slices.DeleteFunc(v.Rows, func(r [2]string) bool { return r[1] == "" })
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		value := r.Options[name]
		usual, known := d.Defaults[name]
		row := [2]string{"--" + name, cmp.Or(value, `""`)}
		switch {
		case known && value != usual, !known && value != "":
			v.Rows = append(v.Rows, row)
		case value != "":
			v.Usual = append(v.Usual, row)
		}
	}
	return v
}

// A barView is a bar of several parts. Its width is relative to the longest bar.
type barView struct {
	Name, Value string
	Width       float64
	Parts       []partView
}

// A partView is one part of a bar. Its width is relative to the bar.
type partView struct {
	Label, Class, Value string
	Width               float64
}

// bars returns the stage times of each set.
func (d *Document) bars() []barView {
	longest := 0.0
	for _, s := range d.Scores {
		longest = max(longest, s.Seconds.Total)
	}
	var out []barView
	for i, s := range d.Scores {
		b := barView{Name: d.names()[i], Value: show.Seconds(s.Seconds.Total),
			Width: 100 * transcript.Ratio(s.Seconds.Total, longest)}
		for _, st := range stageNames {
			if v := st.of(s); v > 0 {
				b.Parts = append(b.Parts, partView{st.label, st.class, show.Seconds(v),
					100 * transcript.Ratio(v, s.Seconds.Total)})
			}
		}
		out = append(out, b)
	}
	return out
}

// A comparisonView is a comparison and its plots.
type comparisonView struct {
	*Comparison
	Heading, Sign string
	Interval      string      // of the word error rate
	Setup         [][2]string // what was compared, in short
	Decode, Total gainView
	Warnings      []string // what limits the speed-ups
	Replay        *replayView
	Plots         []plotView
}

type plotView struct {
	Title string
	SVG   template.HTML
}

func viewOf(c *Comparison, heading string) comparisonView {
	v := comparisonView{Comparison: c, Heading: heading, Replay: replayOf(c)}
	v.Setup, v.Decode, v.Total = setup(c.Runs), c.gainView(c.Speedup.Decode), c.gainView(c.Speedup.Total)
	for _, w := range []string{few(c), noisy(c)} {
		if w != "" {
			v.Warnings = append(v.Warnings, w)
		}
	}
	v.Sign = map[Verdict]string{Identical: "✓", Different: "≠", Inconclusive: "?", Free: "≈"}[c.Verdict]
	for _, p := range []plotView{{"Speed-up of decoding", speedPlot(c)},
		{"Accepted tokens a round", acceptancePlot(c)}} {
		if p.SVG != "" {
			v.Plots = append(v.Plots, p)
		}
	}
	return v
}

// setup returns what was compared: model, assistant and the precision of each.
func setup(runs Pair[Run]) (rows [][2]string) {
	r := runs.Assisted
	for _, x := range [][2]string{
		{"model", shortName(r.Model)}, {"precision", cmp.Or(r.Precision, r.Options["precision"])},
		{"assistant", shortName(r.Assistant)},
		{"its precision", cmp.Or(r.AssistantPrecision, r.Options["assistant-precision"])},
	} {
		// What auto came to is in newer records; the word alone says nothing, least of an ngram.
		if x[1] != "" && x[1] != "auto" {
			rows = append(rows, x)
		}
	}
	return rows
}

// shortName returns the last element of a path. The directories of the author's machine
// do not concern a reader.
func shortName(name string) string {
	name = strings.TrimRight(strings.ReplaceAll(name, "\\", "/"), "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// An errorView is what the page shows of a set's errors.
type errorView struct {
	Name        string
	Score       *Score
	Parts       []partView
	Confusions  []Confusion
	Worst, More []Utterance
	Plot        template.HTML
}

// How many confusions and worst utterances are shown before unfolding.
const (
	pageConfusions = 8
	pageWorst      = 8
)

func errorsOf(s *Score) errorView {
	v := errorView{Name: s.Name, Score: s, Plot: errorPlot(s)}
	all := float64(s.ReferenceWords)
	for _, x := range []struct {
		label, class string
		n            int
	}{{"right", "hits", s.Hits}, {"substituted", "subs", s.Substitutions}, {"deleted", "dels", s.Deletions}} {
		if x.n > 0 {
			v.Parts = append(v.Parts, partView{x.label, x.class, show.Count(x.n),
				100 * transcript.Ratio(float64(x.n), all)})
		}
	}
	v.Confusions = s.Confusions[:min(len(s.Confusions), pageConfusions)]
	n := min(len(s.Worst), pageWorst)
	v.Worst, v.More = s.Worst[:n], s.Worst[n:]
	return v
}
