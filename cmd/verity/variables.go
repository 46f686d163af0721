package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/wer"
)

// applyVariables makes the values of environment variables the defaults of a command's flags. A variable that is nearly
// one of them is misspelt; others that begin with VERITY_ are of scripts, or Kubernetes sets them for a service.
func applyVariables(c *cobra.Command) error {
	var names []string
	for _, o := range cli.All() {
		if o.Scope&(cli.Configurable|cli.Server) == 0 {
			continue
		}
		names = append(names, o.Variable())
		f, value := c.Flags().Lookup(o.Name), os.Getenv(o.Variable())
		if f == nil || value == "" {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			return cli.Usagef("$%s=%s: %w", o.Variable(), show.Line(value), err)
		}
		f.DefValue = f.Value.String()
		cli.Must(c.Flags().SetAnnotation(o.Name, cli.FromKey, []string{"$" + o.Variable()}))
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "VERITY_") || slices.Contains(names, name) {
			continue
		}
		if near := wer.Nearest(name, names); len(near) > 0 {
			return cli.Usagef("$%s: there is no such variable%s", show.Line(name), cli.DidYouMean(near))
		}
	}
	return nil
}

// namingVariable adds to an error about a flag that nobody typed which variable its value comes from.
func namingVariable(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "--"), " ")
	f := c.Flags().Lookup(name)
	if f == nil || f.Changed || f.Annotations[cli.FromKey] == nil {
		return err
	}
	return fmt.Errorf("%w (--%s comes from %s)", err, name, f.Annotations[cli.FromKey][0])
}
