package report

import (
	"cmp"
	_ "embed"
	"fmt"
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

var pageTemplate = newRenderer("page", pageHTML, map[string]any{
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
	"points":   func(x *Change) string { return hard(x.points()) },
	"span":     func(i *Interval) string { return hard(i.span()) },
	"rate":     transcript.Drafts.Rate,
	"kept":     transcript.Drafts.MeanKept,
	"setup":    func(s *Score) []row { return setup(s.Run) },
})

// soft matches the spaces between a number and its unit, and those in a range.
var soft = regexp.MustCompile(`(\d) (%|µs|ms|s|min|h|bytes|kB|MB|GB)|(\d) – `)

// A line may break after a dash even if no space follows; a word joiner prevents that.
var hardSpaces = strings.NewReplacer("– ", "–\u2060\u00a0", " ", "\u00a0")

// hard keeps numbers and their units on one line.
func hard(s string) string {
	return soft.ReplaceAllStringFunc(s, func(m string) string { return hardSpaces.Replace(m) })
}

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
	CSS, JS         raw
	Scores          []*Score
	Comparisons     []comparisonView
	Arms            [][]string // the first row is the header
	Several         bool       // more than two arms
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
		Title: d.title(), Subtitle: d.subtitle(), Notes: d.notes(), CSS: raw(pageCSS), JS: raw(pageJS),
		Scores: d.Scores, Names: d.names(), Rows: hardCells(d.rows()), Bars: d.bars(), Arms: hardCells(d.arms()),
		Several: len(d.Scores) > 2, Replay: d.replay(),
	}
	for _, c := range d.Comparisons {
		p.Comparisons = append(p.Comparisons, d.view(c))
	}
	for i, s := range d.Scores {
		p.Runs = append(p.Runs, viewOfRun(s))
		p.Failures = append(p.Failures, s.Failures...)
		if s.Scored > 0 && (i == 0 || !d.same(i)) {
			p.Errors = append(p.Errors, d.errorsOf(s))
		}
	}
	if len(p.Errors) == 1 {
		p.Errors[0].Name = ""
	}
	return pageTemplate.execute(w, "page", p)
}

// subtitle names what was run.
func (d *Document) subtitle() string {
	s := d.Scores[0]
	parts := []string{show.Some(s.Utterances, "utterance") + ", " + show.Seconds(s.AudioSeconds) + " of audio"}
	if s.Run.Model != "" {
		parts = append(parts, "model "+shortName(s.Run.Model))
	}
	if i := slices.IndexFunc(d.Scores, func(s *Score) bool { return s.Run.Assistant != "" }); i >= 0 {
		parts = append(parts, "assistant "+shortName(d.Scores[i].Run.Assistant))
	}
	for _, x := range []string{shortName(s.Run.Dataset), s.Run.Machine} {
		if x != "" {
			parts = append(parts, x)
		}
	}
	return strings.Join(parts, " · ")
}

// A runView is how a set was made, for the page: labels and values.
type runView struct {
	Name string
	Rows []row
}

// viewOfRun returns the facts of a set's run, and its options.
func viewOfRun(s *Score) runView {
	r := s.Run
	v := runView{Name: s.Name, Rows: []row{{"code", r.Program}, {"model", r.Model}, {"model id", r.ModelID}, {"precision", r.Precision},
		{"assistant", r.Assistant}, {"assistant precision", r.AssistantPrecision},
		{"dataset", r.Dataset}, {"machine", r.Machine}}}
	if r.Threads > 0 {
		v.Rows = append(v.Rows, row{"threads", fmt.Sprint(r.Threads)})
	}
	v.Rows = slices.DeleteFunc(v.Rows, func(r row) bool { return r[1] == "" })
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		v.Rows = append(v.Rows, row{"--" + name, cmp.Or(r.Options[name], `""`)})
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
func (d *Document) bars() (out []barView) {
	longest := 0.0
	for _, s := range d.Scores {
		longest = max(longest, s.Seconds.Total)
	}
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

// A comparisonView is a comparison and its charts.
type comparisonView struct {
	*Comparison
	Heading, Sentence, Sign string
	Labels                  Pair[string]
	Interval                *Interval    // of the word error rate
	Setup                   []row        // what was compared, in short
	Memory                  *Pair[int64] // nil if not measured
	Decode, Total           gainView
	Warnings                []string // what limits the speed-ups
	Charts                  []*chart
}

func (d *Document) view(c *Comparison) comparisonView {
	a, b := d.Scores[c.Arms.Baseline], d.Scores[c.Arms.Assisted]
	sentence := c.sentence()
	v := comparisonView{
		Comparison: c, Heading: c.heading(), Sentence: strings.ToUpper(sentence[:1]) + sentence[1:], Labels: d.labels(c),
		Sign:     map[Verdict]string{Identical: "✓", Different: "≠", Inconclusive: "?", Free: "≈"}[c.Verdict],
		Interval: b.WERInterval, Setup: setup(b.Run), Decode: c.gainView(c.Speedup.Decode), Total: c.gainView(c.Speedup.Total),
	}
	if a.Memory > 0 && b.Memory > 0 {
		v.Memory = &Pair[int64]{a.Memory, b.Memory}
	}
	for _, w := range []string{few(c), noisy(c)} {
		if w != "" {
			v.Warnings = append(v.Warnings, w)
		}
	}
	for _, x := range []*chart{speedChart(c), acceptanceChart(c)} {
		if x != nil {
			v.Charts = append(v.Charts, x)
		}
	}
	return v
}

// setup returns what was run: model, assistant and the precision of each.
func setup(r transcript.Maker) []row {
	return slices.DeleteFunc([]row{
		{"model", shortName(r.Model)}, {"precision", r.Precision},
		{"assistant", shortName(r.Assistant)}, {"its precision", r.AssistantPrecision},
	}, func(r row) bool { return r[1] == "" })
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
	Worst, More []worstView
	Chart       *chart
}

// A worstView is an utterance with many errors. Its sound is empty if none plays.
type worstView struct {
	Utterance
	Sound string
}

// How many confusions and worst utterances are shown before unfolding.
const (
	pageConfusions = 8
	pageWorst      = 8
)

func (d *Document) errorsOf(s *Score) errorView {
	v := errorView{Name: s.Name, Score: s, Chart: errorChart(s)}
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
	for _, u := range s.Worst {
		w := worstView{Utterance: u}
		if d.Sound != nil && u.sound.ID != "" {
			w.Sound = d.Sound(&u.sound)
		}
		v.Worst = append(v.Worst, w)
	}
	n := min(len(s.Worst), pageWorst)
	v.Worst, v.More = v.Worst[:n], v.Worst[n:]
	return v
}
