package main

import (
	"cmp"
	_ "embed"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
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

// manualCommand writes the manual pages for make install, or docs/reference/CLI.md for go generate.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual man DIR | manual markdown FILE", Short: "Write the manual", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "man" && args[0] != "markdown" {
				return cli.Usagef("want man DIR or markdown FILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "markdown" {
				return output.Write(args[1], c.OutOrStdout(), func(w io.Writer) error { return reference(w, c.Root()) })
			}
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

//go:embed reference.md.tmpl
var referenceTemplate string

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

// reference writes docs/reference/CLI.md: all options once, then every command.
func reference(w io.Writer, root *cobra.Command) error {
	_, err := io.WriteString(w, execute(referenceTemplate, root))
	return err
}

func execute(text string, c *cobra.Command) string {
	var b strings.Builder
	cli.Must(template.Must(template.New("").Funcs(docFuncs).Parse(text)).Execute(&b, c))
	return b.String()
}

var docFuncs = template.FuncMap{
	"allOptions":    allOptions,
	"allCommands":   allCommands,
	"commandGroups": cli.CommandGroups,
	"flagGroups":    func(c *cobra.Command) []cli.Group[*pflag.Flag] { return cli.FlagGroups(c, false) },
	"own":           ownFlags,
	"shared":        sharedFlags,
	"description":   description,
	"synopsis": func(c *cobra.Command) string {
		text, _, _ := strings.Cut(description(c), "\n\nExit status:")
		return text
	},
	"written":  cli.Written,
	"limits":   cli.Limits,
	"meaning":  cli.Meaning,
	"text":     func(f *pflag.Flag) string { _, text := pflag.UnquoteUsage(f); return text },
	"flagOnly": func(f *pflag.Flag) bool { return options.Find(f.Name).Scope&(options.Configurable|options.Server) == 0 },
	"escape":   strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "\n", "  \n").Replace,
	"cell":     strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", "<br>").Replace,
	"upper":    strings.ToUpper,
	"anchor":   func(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") },
}

// description returns the help of a command as Markdown, where examples are indented by four.
func description(c *cobra.Command) string {
	return strings.ReplaceAll(strings.TrimSpace(cmp.Or(c.Long, c.Short+".")), "\n  ", "\n    ")
}

// allOptions returns the table of options as flags.
func allOptions() []cli.Group[*pflag.Flag] {
	var flags []*pflag.Flag
	for _, o := range options.All() {
		flags = append(flags, cli.NewFlag(o, nil))
	}
	return cli.GroupFlags(flags, nil)
}

// allCommands returns the commands under c that deserve a section of the reference.
func allCommands(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			list = append(append(list, sub), allCommands(sub)...)
		}
	}
	return list
}

// isShared reports whether a flag means exactly what the table of options says.
func isShared(f *pflag.Flag) bool {
	o := options.Find(f.Name)
	return o != nil && f.Usage == o.Help
}

// ownFlags returns the flags that only this command explains.
func ownFlags(c *cobra.Command) (own []*pflag.Flag) {
	for _, g := range cli.FlagGroups(c, false) {
		own = append(own, slices.DeleteFunc(g.Items, isShared)...)
	}
	return own
}

// sharedFlags returns the flags that the table of options explains.
func sharedFlags(c *cobra.Command) []cli.Group[*pflag.Flag] {
	groups := cli.FlagGroups(c, false)
	for i := range groups {
		groups[i].Items = slices.DeleteFunc(groups[i].Items, func(f *pflag.Flag) bool { return !isShared(f) })
	}
	return slices.DeleteFunc(groups, func(g cli.Group[*pflag.Flag]) bool { return len(g.Items) == 0 })
}
