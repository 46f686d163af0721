package report

import (
	"fmt"
	"io"
	"strings"

	"verity/internal/show"
)

// Table writes d as a table in Markdown: a row for each run, and for each of its groups.
func (d *Document) Table(w io.Writer) error {
	rows := []string{"| run | utterances | WER | 95 % interval | CER | sub | del | ins | RTFx |",
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|"}
	add := func(name string, g Group, rtfx string) {
		interval := "–" // too few utterances
		if g.WERInterval != nil {
			interval = g.WERInterval.Short()
		}
		cells := []string{name, show.Count(g.Scored), show.Percent(g.WER), interval, show.Percent(g.CER),
			show.Count(g.Substitutions), show.Count(g.Deletions), show.Count(g.Insertions), rtfx}
		for i := range cells {
			cells[i] = strings.ReplaceAll(show.Line(cells[i]), "|", `\|`)
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	}
	for i, s := range d.Scores {
		add(d.names()[i], Group{Scored: s.Scored, WER: s.WER, WERInterval: s.WERInterval, CER: s.CER,
			Substitutions: s.Substitutions, Deletions: s.Deletions, Insertions: s.Insertions}, textIf(s.RTFx > 0, show.Times(s.RTFx)))
		for _, g := range s.Groups {
			add(d.names()[i]+", "+g.label(), g, "")
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(rows, "\n"))
	return err
}
