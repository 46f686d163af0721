package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"verity/internal/show"
	"verity/transcript"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// pageTemplate parses the template when the first page is written.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(pageFuncs).Parse(pageHTML))
})

var pageFuncs = template.FuncMap{
	"css":   func() template.CSS { return template.CSS(pageCSS) },
	"title": (*Document).title, "subtitle": (*Document).subtitle, "notes": (*Document).notes, "names": (*Document).names,
	"variants": (*Document).variants, "assistants": (*Document).assistants, "lengths": (*Document).lengths,
	"groups": (*Document).groups, "rows": (*Document).rows,
	"bars": (*Document).bars, "erring": (*Document).erring, "failures": (*Document).failures,
	"percent": show.Percent[Rate], "times": show.Times, "count": show.Count, "seconds": show.Seconds, "bytes": show.Bytes,
	"percent1": func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
	"share": func(a, b int) string {
		return fmt.Sprintf("%.1f %%", 100*transcript.Ratio(float64(a), float64(b)))
	},
	"join":     func(s []string) string { return strings.Join(s, ", ") },
	"indented": func(s string) bool { return strings.HasPrefix(s, " ") },
	"points":   (*Change).points,
	"span":     (*Interval).span,
	"facts":    facts,
	"heading":  (*Comparison).heading,
	"sentence": (*Comparison).sentence,
	"sign": func(v Verdict) string {
		return map[Verdict]string{Identical: "✓", Different: "≠", Inconclusive: "?", Free: "≈"}[v]
	},
	"gain":       (*Comparison).speedNote,
	"warnings":   (*Comparison).warnings,
	"rounds":     (*Comparison).rounds,
	"breakEven":  (*Comparison).breakEven,
	"confusions": func(all []Confusion) []Confusion { return all[:min(len(all), pageConfusions)] },
	"first":      func(all []Utterance) []Utterance { return all[:min(len(all), pageWorst)] },
	"more":       func(all []Utterance) []Utterance { return all[min(len(all), pageWorst):] },
}

// HTML writes d as one self-contained page: no other file, no network.
func (d *Document) HTML(w io.Writer) error {
	var b strings.Builder
	if err := pageTemplate().Execute(&b, d); err != nil {
		return err
	}
	_, err := io.WriteString(w, show.Text(b.String()))
	return err
}

// erring returns the scores of those variants that have errors of their own.
func (d *Document) erring() (list []*Score) {
	for i, s := range d.Scores {
		if s.Scored > 0 && (i == 0 || !d.sameTexts(i)) {
			list = append(list, s)
		}
	}
	return list
}

func (d *Document) failures() (all []Failure) {
	for _, s := range d.Scores {
		all = append(all, s.Failures...)
	}
	return all
}

// subtitle names what was run.
func (d *Document) subtitle() string {
	s := d.Scores[0]
	assistant := ""
	for _, x := range d.Scores {
		assistant = cmp.Or(assistant, x.Run.Assistant)
	}
	parts := slices.DeleteFunc([]string{show.Some(s.Utterances, "utterance") + ", " + show.Seconds(s.AudioSeconds) + " of audio",
		textIf(s.Run.Model != "", "model "+shortName(s.Run.Model)), textIf(assistant != "", "assistant "+shortName(assistant)),
		shortName(s.Run.Dataset), s.Run.Machine}, func(part string) bool { return part == "" })
	return strings.Join(parts, " · ")
}

// facts returns the facts of a set's run, and its options: labels and values.
func facts(s *Score) []row {
	r := s.Run
	rows := []row{{"code", r.Program}, {"model", r.Model}, {"model id", r.ModelID}, {"precision", r.Precision},
		{"assistant", r.Assistant}, {"assistant precision", r.AssistantPrecision},
		{"dataset", r.Dataset}, {"machine", r.Machine}, {"threads", textIf(r.Threads > 0, fmt.Sprint(r.Threads))}}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r[1] == "" })
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		rows = append(rows, row{"--" + name, cmp.Or(r.Options[name], `""`)})
	}
	return rows
}

// A barView is a bar of several parts. Its width is relative to the longest bar.
type barView struct {
	Name, Value string
	Width       float64
	Parts       []partView
}

// A partView is one part of a bar, with its width relative to the bar.
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

// shortName returns the last element of a path. The directories of the author's machine
// do not concern a reader.
func shortName(name string) string {
	name = strings.TrimRight(strings.ReplaceAll(name, "\\", "/"), "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// How many confusions and worst utterances are shown before unfolding.
const (
	pageConfusions = 8
	pageWorst      = 8
)
