package report

import (
	"cmp"
	"io"
	"strings"

	"verity/internal/show"
)

// groups returns the table of runs and their groups, header first; nil if there are no groups.
func (d *Document) groups() [][]string {
	rows := d.runs()
	if len(rows) == 1+len(d.Scores) {
		return nil
	}
	return rows
}

// runs returns a row for each run, and for each of its groups, header first.
func (d *Document) runs() [][]string {
	rows := [][]string{{"run", "utterances", "WER", "95 % interval", "CER", "sub", "del", "ins", "α", "decoding", "RTFx"}}
	add := func(name string, g Group, decoding, rtfx string) {
		interval := textIf(g.Scored > 0, "–") // too few utterances
		if g.WERInterval != nil {
			interval = g.WERInterval.Short()
		}
		rows = append(rows, []string{name, show.Count(g.Scored), show.Percent(g.WER), interval, show.Percent(g.CER),
			show.Count(g.Substitutions), show.Count(g.Deletions), show.Count(g.Insertions), number("%.3f", g.Alpha), decoding, rtfx})
	}
	for i, s := range d.Scores {
		add(d.names()[i], s.Group, d.overFirst(i), textIf(s.RTFx > 0, show.Times(s.RTFx)))
		for _, g := range s.Groups {
			decoding := ""
			if c := d.withFirst(i); c != nil {
				for _, x := range c.Groups {
					decoding += textIf(x.Name == g.Name, c.cell(x.Speedup))
				}
			}
			add(d.names()[i]+", "+cmp.Or(g.Name, "(none)"), g, decoding, "")
		}
	}
	return withoutEmpty(rows)
}

// Table writes the runs and their groups as a table in Markdown, and below it what failed.
func (d *Document) Table(w io.Writer) error {
	var b strings.Builder
	for i, cells := range d.runs() {
		for j := range cells {
			cells[j] = strings.ReplaceAll(show.Line(cells[j]), "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(cells)-1) + "|\n")
		}
	}
	for i, f := range d.failures() {
		b.WriteString(textIf(i == 0, "\n") + "- failed: " + f.String() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
