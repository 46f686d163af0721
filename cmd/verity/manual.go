package main

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/internal/output"
)

// helpCommand makes "verity help COMMAND" refuse words that are not commands.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, err := root.Find([]string{"help"})
	cli.Must(err)
	c.Use, c.Short, c.Long = "help [COMMAND]", "Show help for a command", "Help prints what COMMAND --help prints."
	c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
		of, rest, err := c.Root().Find(args)
		if err != nil {
			return cli.UsageError{Err: err}
		}
		if err := cli.NoArgs(of, rest); err != nil {
			return err
		}
		return of.Help()
	}
}

// manualCommand writes the manual pages for make install.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual man DIR", Short: "Write the manual", Hidden: true,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := output.MakeDir(args[1]); err != nil {
				return err
			}
			return manPages(c.Root(), args[1])
		},
	}
}

// manPages writes the manual page of a command and of each command under it. Package doc would
// list flags without headings, so they are hidden from it and listed in the description.
func manPages(c *cobra.Command, dir string) error {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := manPages(sub, dir); err != nil {
				return err
			}
		}
	}
	c.Long = execute(manTemplate, c)
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	c.DisableAutoGenTag = true
	return output.Replace(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"), func(w io.Writer) error {
		return doc.GenMan(c, &doc.GenManHeader{Source: "verity " + cli.Version, Manual: "Verity"}, w)
	})
}

// manTemplate is the description of a manual page, in Markdown.
const manTemplate = `{{description .}}
{{range commandGroups .}}
# {{upper .Title}}
{{range .Items}}
**{{.Name}}**
: {{escape .Short}}
{{end}}{{end}}{{range flagGroups .}}
# {{upper .Title}}
{{range .Items}}
**{{escape (written .)}}**
: {{escape (meaning .)}}
{{end}}{{end}}`

func execute(text string, c *cobra.Command) string {
	var b strings.Builder
	cli.Must(template.Must(template.New("").Funcs(docFuncs).Parse(text)).Execute(&b, c))
	return b.String()
}

var docFuncs = template.FuncMap{
	"commandGroups": cli.CommandGroups,
	"flagGroups":    func(c *cobra.Command) []cli.Group[*pflag.Flag] { return cli.FlagGroups(c, false) },
	"description":   description,
	"written":       cli.Written,
	"meaning":       cli.Meaning,
	"escape":        strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "\n", "  \n").Replace,
	"upper":         strings.ToUpper,
}

// description returns the help of a command as Markdown, where examples are indented by four.
func description(c *cobra.Command) string {
	return strings.ReplaceAll(strings.TrimSpace(cmp.Or(c.Long, c.Short+".")), "\n  ", "\n    ")
}
