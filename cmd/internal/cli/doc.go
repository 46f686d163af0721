// Package cli holds the parts that every command of the program shares: streams, errors with
// an exit status, flags from the table of options, help, progress bars and the log.
//
//	c := cli.New("greet [flags]", "Print a greeting", long, func(ctx context.Context, args []string) error {
//		_, err := fmt.Fprintln(env.Out, "hello")
//		return err // a UsageError exits with status 2
//	})
//	cli.AddFlags(c, func(f *pflag.FlagSet) { cli.Bind(f, "quiet", &quiet) })
package cli
