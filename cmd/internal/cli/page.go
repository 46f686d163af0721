package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/options"
)

// FromKey is the annotation of a flag whose default is not the program's: it says where it
// is from.
const FromKey = "verity_from"

// A Page is what help, the manual page and docs/reference/CLI.md say about a command.
type Page struct {
	path, line, short string
	text              string // paragraphs; lines that are indented are examples and tables
	commands, flags   []section
}

// A section of a page has a heading and rows.
type section struct {
	title string
	rows  []Row
}

// A Row is a command or a flag: how it is written, its limits and default, what it does.
type Row struct {
	Name, Limits, Text string
	option             *options.Option // nil for commands, and for flags that are not in the table
}

// full is the text with the limits behind it.
func (r Row) full() string {
	if r.Limits == "" {
		return r.Text
	}
	return r.Text + " (" + r.Limits + ")"
}

// PageOf returns the page of a command, with all flags or with those of common use.
func PageOf(c *cobra.Command, brief bool) Page {
	p := Page{path: c.CommandPath(), line: c.UseLine(), short: c.Short, text: cmp.Or(c.Long, c.Short+".")}
	if !c.HasParent() {
		p.line = "verity [flags of transcribe] FILE...\n  verity COMMAND [flags]" // withCommand takes both
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			p.commands = add(p.commands, cmp.Or(sub.GroupID, "Commands"), Row{Name: sub.Name(), Text: sub.Short})
		}
	}
	flags := slices.Collect(func(yield func(*pflag.Flag) bool) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "version" {
				yield(f)
			}
		})
	})
	slices.SortStableFunc(flags, func(a, b *pflag.Flag) int { return place(a) - place(b) })
	for _, f := range flags {
		o := optionOf(f)
		r := Row{Name: Written(f), Limits: Limits(f), option: o}
		_, r.Text = pflag.UnquoteUsage(f)
		title := titleOf(f)
		if brief {
			if o != nil && o.Brief == "" {
				continue
			}
			title = cmp.Or(briefTitles[title], title)
			r.Limits = ""
			if r.Text = briefly(r.Text); o != nil {
				r.Text = o.Brief
			}
		}
		p.flags = add(p.flags, title, r)
	}
	slices.SortStableFunc(p.flags, func(a, b section) int { return rank(a.title) - rank(b.title) })
	return p
}

// briefTitles gathers the few flags of some groups under the heading of another.
var briefTitles = map[string]string{
	options.Voice: options.Input, options.Words: options.Model, options.Quality: options.Model,
	options.Drafts: options.Speed, options.Log: options.Output, options.Runs: options.Dataset,
}

// add appends a row to the section of a title.
func add(list []section, title string, r Row) []section {
	for i := range list {
		if list[i].title == title {
			list[i].rows = append(list[i].rows, r)
			return list
		}
	}
	return append(list, section{title, []Row{r}})
}

// place orders flags: those of the table as it does, after others.
func place(f *pflag.Flag) int { return slices.Index(options.All(), options.Find(f.Name)) }

// rank orders headings: those of the table as it does, then others.
func rank(title string) int {
	i := slices.Index(options.Groups, title)
	if i < 0 {
		return len(options.Groups)
	}
	return i
}

// Written is how a flag is written, with the name of its value.
func Written(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	if value == "string" {
		value = "name"
	}
	head := "--" + f.Name
	if f.Shorthand != "" {
		head = "-" + f.Shorthand + ", " + head
	}
	if value != "" {
		head += " " + strings.ToUpper(value)
	}
	return head
}

// Limits says which values a flag takes and its default; empty if there is nothing to say.
func Limits(f *pflag.Flag) string {
	var parts []string
	if o := optionOf(f); o != nil && o.Range() != "" {
		parts = append(parts, o.Range())
	}
	if d := defaultOf(f); d != "" {
		if from := f.Annotations[FromKey]; from != nil {
			d += ", from " + from[0]
		}
		parts = append(parts, "default "+d)
	}
	return strings.Join(parts, "; ")
}

// briefly returns the first clause of a text.
func briefly(text string) string {
	for _, end := range []string{"\n", ". ", "; ", ": ", " (", ", "} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

// HelpWidth is how wide help is: a terminal of the usual size shows it unbroken.
const HelpWidth = 80

// terminal returns the page as help shows it.
func (p Page) terminal(brief bool) string {
	var b strings.Builder
	column, text := flagColumn, strings.TrimRight(foldText(p.text), " \n")
	if brief {
		column, text = briefColumn, p.short
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, p.line)
	for _, s := range p.commands {
		fmt.Fprintf(&b, "\n%s:\n", s.title)
		for _, r := range s.rows {
			fmt.Fprintf(&b, "  %-12s %s\n", r.Name, r.Text)
		}
	}
	for _, s := range p.flags {
		fmt.Fprintf(&b, "\n%s:\n", s.title)
		for _, r := range s.rows {
			r.write(&b, column)
		}
	}
	switch {
	case len(p.commands) > 0:
		fmt.Fprintf(&b, "\n\"%s COMMAND -h\" shows common flags, --help explains everything.\n", p.path)
	case brief:
		fmt.Fprintf(&b, "\n\"%s --help\" explains everything.\n", p.path)
	}
	return b.String()
}

// Where the text of a flag begins: with -h beside every name.
const flagColumn, briefColumn = 26, 35

// write writes a flag with its text beside it, or below it if its name is long.
func (r Row) write(b *strings.Builder, column int) {
	head := "  " + r.Name
	if !strings.HasPrefix(r.Name, "-") || strings.HasPrefix(r.Name, "--") {
		head = "      " + r.Name
	}
	at := len([]rune(head))
	b.WriteString(head)
	if at+2 > column {
		b.WriteByte('\n')
		at = 0
	}
	for _, line := range Fold(r.full(), HelpWidth-column) {
		fmt.Fprintf(b, "%*s%s\n", column-at, "", line)
		at = 0
	}
}

// Markdown returns the page as a section of docs/reference/CLI.md. Options that have a table of
// their own there are only named.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n    %s\n", p.path, strings.ReplaceAll(p.line, "\n", "\n  "))
	text, _, _ := strings.Cut(p.text, "\n\nExit status:")
	// Lines that begin with two spaces are examples, which Markdown wants four of.
	fmt.Fprintf(&b, "\n%s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n  ", "\n    "))
	shared := ""
	for _, s := range p.flags {
		var names []string
		rows := ""
		for _, r := range s.rows {
			if r.isShared() {
				names = append(names, "`--"+r.option.Name+"`")
				continue
			}
			rows += r.Markdown()
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n| %s | default | meaning |\n|---|---|---|\n%s", s.title, rows)
		}
		if names != nil {
			shared += fmt.Sprintf("- %s: %s\n", s.title, strings.Join(names, ", "))
		}
	}
	if shared != "" {
		fmt.Fprintf(&b, "\nIt takes these [options](#options):\n\n%s", shared)
	}
	return b.String()
}

// isShared reports whether a flag does what the table of options says.
func (r Row) isShared() bool {
	if r.option == nil {
		return false
	}
	_, text := pflag.UnquoteUsage(&pflag.Flag{Usage: r.option.Help, Value: &OptionFlag{O: r.option}})
	return text == r.Text
}

func (r Row) Markdown() string {
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", "<br>").Replace // a line of it stays one
	return fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, cell(r.Limits), cell(r.Text))
}

// Man returns the page in the language of manual pages.
func (p Page) Man(date string) string {
	var b strings.Builder
	name := strings.ReplaceAll(p.path, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 %s verity Verity\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", strings.ToUpper(name), date, name, roff(p.short))
	for line := range strings.SplitSeq(p.line, "\n") {
		fmt.Fprintf(&b, ".B %s\n.br\n", roff(strings.TrimSpace(line)))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for block := range strings.SplitSeq(strings.TrimSpace(p.text), "\n\n") {
		begin, end := ".PP\n", ""
		if strings.HasPrefix(block, "  ") { // examples and tables
			begin, end = ".PP\n.EX\n", ".EE\n"
		}
		b.WriteString(begin)
		for line := range strings.SplitSeq(block, "\n") {
			fmt.Fprintln(&b, roff(strings.TrimPrefix(line, "  ")))
		}
		b.WriteString(end)
	}
	for _, list := range [][]section{p.commands, p.flags} {
		for _, s := range list {
			fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(s.title)))
			for _, r := range s.rows {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(r.Name), strings.ReplaceAll(roff(r.full()), "\n", "\n.br\n"))
			}
		}
	}
	return b.String()
}

// roff escapes what the language of manual pages would obey, and what is not ASCII.
func roff(text string) string {
	var b strings.Builder
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		b.WriteString(`\&`)
	}
	for _, c := range text {
		switch {
		case c == '\\':
			b.WriteString(`\e`)
		case c == '-':
			b.WriteString(`\-`)
		case c > '~':
			fmt.Fprintf(&b, `\[u%04X]`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
