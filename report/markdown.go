package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// cell escapes text for a Markdown table.
var cell = strings.NewReplacer("|", `\|`, "\n", " ", "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;",
	"[", `\[`, "~", `\~`)

// Markdown writes d as tables.
func (d *Document) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n", cell.Replace(d.title()))
	for _, note := range d.notes() {
		fmt.Fprintf(b, "\n**%s**\n", cell.Replace(note))
	}
	if d.Arms != nil {
		rows := d.armRows()
		fmt.Fprintf(b, "\n| %s |\n|---|%s\n", strings.Join(rows[0], " | "), strings.Repeat("---:|", len(rows[0])-1))
		for _, r := range rows[1:] {
			r[0] = cell.Replace(r[0])
			fmt.Fprintf(b, "| %s |\n", strings.Join(r, " | "))
		}
	}
	for i, c := range d.Comparisons {
		fmt.Fprintf(b, "\n## %s\n\n| | |\n|---|---|\n", cell.Replace(d.heading(i)))
		for _, l := range c.lines() {
			fmt.Fprintf(b, "| %s | %s |\n", l[0], cell.Replace(l[1]))
		}
		for _, f := range c.Differences {
			fmt.Fprintf(b, "| %s: %s | %s → %s |\n",
				cell.Replace(f.ID), strings.Join(f.What, ", "),
				cell.Replace(f.Text.Baseline), cell.Replace(f.Text.Assisted))
		}
	}
	fmt.Fprintf(b, "\n## Scores\n\n| | %s |\n|---|%s\n",
		strings.Join(d.cells(), " | "), strings.Repeat("---:|", len(d.Scores)))
	for _, r := range d.rows() {
		fmt.Fprintf(b, "| %s |\n", strings.Join(r, " | "))
	}
	for i, s := range d.Scores {
		if len(s.Worst) == 0 || i > 0 && d.same(i) {
			continue
		}
		fmt.Fprintf(b, "\n## Worst utterances of %s\n\n| utterance | errors | text |\n|---|---:|---|\n",
			cell.Replace(s.Name))
		for _, u := range s.Worst {
			fmt.Fprintf(b, "| %s | %d / %d |%s |\n", cell.Replace(u.ID), u.Errors, u.Words, markdownDiff(u.Diff))
		}
	}
	for _, s := range d.Scores {
		for _, f := range s.Failures {
			fmt.Fprintf(b, "\nFailed: %s: %s\n", cell.Replace(f.ID), cell.Replace(f.Error))
		}
	}
	return b.Flush()
}

// markdownDiff strikes out missing words and sets wrong ones in bold.
func markdownDiff(diff []Word) string {
	var b strings.Builder
	for _, w := range diff {
		if w.Op == "sub" || w.Op == "del" {
			fmt.Fprintf(&b, " ~~%s~~", cell.Replace(w.Reference))
		}
		if w.Op == "sub" || w.Op == "ins" {
			fmt.Fprintf(&b, " **%s**", cell.Replace(w.Hypothesis))
		}
		if w.Op == "hit" {
			b.WriteString(" " + cell.Replace(w.Reference))
		}
	}
	return b.String()
}

// title returns the given title, or one that names what was compared or scored.
func (d *Document) title() string {
	if d.Title != "" {
		return d.Title
	}
	r := d.Scores[0].Run
	model := shortName(r.Model)
	if d.Arms != nil {
		return model + ": " + strings.Join(d.names(), ", ")
	}
	if len(d.Comparisons) == 1 {
		if c := d.Comparisons[0].Runs; c.Assisted.Assistant != "" && c.Baseline.Assistant == "" && model != "" {
			return fmt.Sprintf("%s with assistant %s against %s alone", model, shortName(c.Assisted.Assistant), model)
		}
	}
	switch data := shortName(r.Dataset); {
	case model != "" && data != "":
		return model + " on " + data
	case model != "":
		return model
	}
	return "Verity report"
}

// cells returns the names of the sets as table cells.
func (d *Document) cells() []string {
	names := d.names()
	for i, n := range names {
		names[i] = cell.Replace(n)
	}
	return names
}
