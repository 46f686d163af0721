package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"verity/internal/show"
)

// An env is the part of the process that a command may use. Only text goes to out;
// progress and logs go to err.
type env struct {
	in       io.Reader
	out, err io.Writer

	// Whether out and err are terminals.
	outTerminal, errTerminal bool

	// Path of the config file; empty for none.
	config      string
	configNamed bool // by $VERITY_CONFIG: it must be there
}

// SetVersion says what version a program is, for its records.
func SetVersion(v string) { version = v }

// Main is the program of a version: it runs on the process's arguments and ends it.
func Main(v string) {
	SetVersion(v)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, env{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		config: configPath(), configNamed: os.Getenv(configVariable) != "" && configPath() != "",
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

// A usageError is the caller's mistake: it makes the exit status 2, not 1.
type usageError struct{ error }

// A differsError says that outputs differ that must not: the exit status is 3.
type differsError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// interrupted is the exit status after a signal, as shells have it for Ctrl-C.
const interrupted = 130

// run is the whole program but for the process around it. It returns the exit
// status.
func run(ctx context.Context, e env, args []string) int {
	out := &watched{w: e.out}
	e.out = out
	root := newRoot(e)
	args = withCommand(root, args)
	if err := withConfig(ctx, root, e, args); err != nil {
		e.complain(args, fmt.Sprintf("verity: %v", err))
		return 2
	}
	root.SetArgs(args)
	root.SetIn(e.in)
	root.SetErr(e.err)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsage(root)
		root.SetArgs(completing(root, args))
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to standard output: %w", out.err) // help, for example
	}
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		e.complain(args, fmt.Sprintf("%s: %v\nRun '%[1]s --help' for usage.", cmd.CommandPath(), err))
		return 2
	case ctx.Err() != nil:
		e.complain(nil, cmd.CommandPath()+": interrupted")
		return interrupted
	}
	e.complain(args, fmt.Sprintf("%s: %v", cmd.CommandPath(), err))
	if errors.As(err, new(differsError)) {
		return 3
	}
	return 1
}

// complain writes a message. Names among the arguments that hold control characters
// are quoted and all other control characters escaped: a name must neither command the
// terminal nor look like a line of its own.
func (e env) complain(args []string, message string) {
	for _, arg := range args {
		if name := show.Name(arg); name != arg {
			message = strings.ReplaceAll(message, arg, name)
		}
	}
	fmt.Fprintln(e.err, show.Text(message))
}

// color reports whether text on standard output may be coloured.
func (e env) color() bool { return e.outTerminal && os.Getenv("NO_COLOR") == "" }

// isTerminal reports whether f is a terminal that knows escape sequences.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// A watched writer remembers the first error, since some callers ignore it.
type watched struct {
	w   io.Writer
	err error
}

func (c *watched) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

const rootHelp = `Verity transcribes speech with Whisper models: tiny to large-v3, in pure Go.

Without --model, Verity uses openai's multilingual Whisper base, which is part of this
program, with weights of four bits. Larger Whisper models make fewer errors: name one,
such as small, or a checkpoint that you have.

  verity talk.mp3
  verity transcribe --output-format srt --output-dir subs *.mp3
  verity serve`

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:           "verity",
		Short:         "Speech to text with Whisper models",
		Version:       version,
		Long:          rootHelp + exitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		// Where no command begins so, the shell offers files: "verity FILE" transcribes.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cobra.EnableCommandSorting = false // the groups have an order of their own
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(dashes)
	root.SetHelpFunc(writeHelp)
	root.SetHelpCommand(helpCommand())
	root.SetOut(e.out) // before completionCommand, which keeps it
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Transcribe", []*cobra.Command{transcribeCommand(e), serveCommand(e)}},
		{"Measure", []*cobra.Command{evalCommand(e), compareCommand(e), reportCommand(e), benchCommand(e), planCommand(e), selftestCommand(e)}},
		{"Models", []*cobra.Command{modelsCommand(e), infoCommand(e), quantizeCommand(e), synthCommand(e)}},
		{"Shell", []*cobra.Command{configCommand(e), versionCommand(e), manualCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID("Shell")
	root.SetCompletionCommandGroupID("Shell")
	completionCommand(root)
	completeOptions(root)
	addHelp(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return contradiction(c.Flags()) }
	return root
}

const exitHelp = `

Exit status: 0 done, 1 some input failed, 2 wrong usage, 130 interrupted.`

// withCommand lets "verity talk.wav" and "verity -m DIR talk.wav" mean transcribe: what
// is no command but a flag, a file or the name of one.
func withCommand(root *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return args
	}
	first := args[0]
	switch first {
	case "-h", "--help", "-v", "--version", "help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return args
	}
	if isCommand(root, first) {
		return args
	}
	_, err := os.Stat(first)
	if err == nil || strings.HasPrefix(first, "-") || strings.ContainsAny(first, `./\`) {
		return append([]string{"transcribe"}, args...)
	}
	return args
}

// isCommand reports whether a word is a command of root.
func isCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
}

// noArgs refuses arguments; at the root they are commands that do not exist.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return usagef("no arguments are taken: got %q%s", args[0], behindEquals(c, args[0]))
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return usagef("there is no command %q%s", args[0], didYouMean(nearest(args[0], names)))
}

// behindEquals says where the value of a flag belongs that may be named without one, if
// such a flag was.
func behindEquals(c *cobra.Command, arg string) (hint string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" && f.Value.Type() != "bool" && f.Value.String() == f.NoOptDefVal {
			hint = fmt.Sprintf("; a value of --%s stands behind =: --%[1]s=%s", f.Name, arg)
		}
	})
	return hint
}

// version is the program's, which Main sets.
var version = Development

// Development is the version of a program that was built without one.
const Development = "development"

func versionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.out, "verity %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
