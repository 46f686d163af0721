package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"verity/internal/show"
)

// Text writes d for a terminal. With color, errors in the worst utterances and the
// verdict are in ANSI colours; else they are marked by signs.
func (d *Document) Text(w io.Writer, color bool) error {
	b := bufio.NewWriter(w)
	p := painter{b, color}
	for _, note := range d.notes() {
		fmt.Fprintf(b, "%s\n\n", p.paint("1;33", show.Line(note)))
	}
	if !slices.ContainsFunc(d.Scores, func(s *Score) bool { return s.Utterances > 0 }) {
		p.failures(d.Scores[0], "nothing to score: ") // no row could be used
		return b.Flush()
	}
	for _, c := range d.Comparisons {
		p.comparison(c)
	}
	for _, rows := range [][][]string{d.variants(), d.assistants(), d.lengths()} {
		if writeColumns(b, rows); rows != nil {
			fmt.Fprintln(b)
		}
	}
	rows := d.rows()
	if len(d.Scores) > 1 {
		rows = append([][]string{append([]string{""}, d.names()...)}, rows...)
	}
	writeColumns(b, rows)
	if rows := d.groups(); rows != nil {
		fmt.Fprintln(b)
		writeColumns(b, rows)
	}
	for i, s := range d.Scores {
		if i > 0 && d.sameTexts(i) {
			continue // same texts as an earlier set
		}
		of := ""
		if len(d.Scores) > 1 {
			of = " of " + show.Line(s.Name)
		}
		p.worst(s, of)
		if s.Failed > 0 {
			fmt.Fprintln(b)
		}
		p.failures(s, "failed in "+show.Line(s.Name)+": ")
	}
	return b.Flush()
}

// freeExamples is how many differences a terminal shows if the variants may differ.
const freeExamples = 5

// comparison writes the lines of a comparison, and what differs.
func (p painter) comparison(c *Comparison) {
	name := Pair[string]{show.Line(c.Names.Baseline), show.Line(c.Names.Assisted)}
	if s := c.summary(); s != "" {
		fmt.Fprintf(p, "%s\n\n", p.paint("1;32", show.Line(s)))
	}
	fmt.Fprintf(p, "%s: %s\n", show.Line(c.heading()), p.paint("1;"+verdictColors[c.Verdict], c.sentence()))
	for _, l := range c.lines()[1:] {
		fmt.Fprintf(p, "  %-14s %s\n", show.Line(l[0]), show.Line(l[1]))
	}
	most := len(c.Differences)
	if c.Verdict == Free {
		most = min(most, freeExamples)
	}
	width := max(len(name.Baseline), len(name.Assisted))
	for _, f := range c.Differences[:most] {
		what := strings.Join(f.What, ", ")
		if x := f.Errors; x != nil {
			what = fmt.Sprintf("%s instead of %s", show.Some(x.Assisted, "error"), show.Count(x.Baseline))
		} else if c.foreign && !strings.Contains(what, " in ") {
			what = "text"
		}
		fmt.Fprintf(p, "  %s: %s\n    %-*s  %s\n    %-*s  %s\n", show.Name(f.ID), what,
			width, name.Baseline, show.Line(f.Text.Baseline), width, name.Assisted, show.Line(f.Text.Assisted))
	}
	fmt.Fprintln(p)
}

// writeColumns writes rows in aligned columns. All rows have the same number of cells.
func writeColumns(w io.Writer, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i := range r {
			r[i] = show.Line(r[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	for _, r := range rows {
		line := fmt.Sprintf("%-*s", widths[0], r[0])
		for i, cell := range r[1:] {
			line += fmt.Sprintf("  %-*s", widths[i+1], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// A painter writes with or without colours.
type painter struct {
	io.Writer
	color bool
}

func (p painter) paint(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

var verdictColors = map[Verdict]string{Identical: "32", Different: "31", Inconclusive: "33", Free: "0"}

// shownWorst is how many of the worst utterances a terminal shows.
const shownWorst = 5

// worst writes the worst utterances with their errors marked as in wdiff: [-deleted-],
// {+inserted+}. of is " of NAME" if there are several sets.
func (p painter) worst(s *Score, of string) {
	if len(s.Worst) == 0 {
		return
	}
	fmt.Fprintf(p, "\nworst utterances%s: %s was said, %s written\n", of,
		p.paint("32", "[-this-]"), p.paint("31", "{+this+}"))
	for _, u := range s.Worst[:min(len(s.Worst), shownWorst)] {
		fmt.Fprintf(p, "  %s: %s in %s\n    ",
			show.Name(u.ID), show.Some(u.Errors, "error"), show.Some(u.Words, "word"))
		for i, w := range u.Diff {
			if i > 0 {
				fmt.Fprint(p, " ")
			}
			fmt.Fprint(p, p.word(w))
		}
		fmt.Fprintln(p)
	}
}

func (p painter) word(w Word) string {
	del, ins := p.paint("32", "[-"+show.Line(w.Reference)+"-]"), p.paint("31", "{+"+show.Line(w.Hypothesis)+"+}")
	switch w.Op {
	case "sub":
		return del + ins
	case "del":
		return del
	case "ins":
		return ins
	}
	return show.Line(w.Reference)
}

func (p painter) failures(s *Score, title string) {
	if s.Failed == 0 {
		return
	}
	fmt.Fprintf(p, "%s%s of %s failed\n", title, show.Count(s.Failed), show.Some(s.Utterances+s.Failed, "utterance"))
	for _, f := range s.Failures {
		fmt.Fprintf(p, "  %s\n", f)
	}
	if rest := s.Failed - len(s.Failures); rest > 0 {
		fmt.Fprintf(p, "  and %s more\n", show.Count(rest))
	}
}
