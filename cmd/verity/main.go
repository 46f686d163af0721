package main

import (
	"cmp"
	"context"
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

	"verity/cmd/internal/cli"
	"verity/cmd/internal/measure"
	"verity/cmd/internal/models"
	"verity/cmd/internal/setup"
	"verity/cmd/internal/text"
)

//go:generate go run . manual markdown ../../docs/reference/CLI.md
//go:generate go test -count=1 -run ^TestReference$ . -args -update

// version is set by the linker, as in Makefile.
var version string

func main() {
	cli.Version = cmp.Or(version, cli.Version)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, cli.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		Config: configPath(), ConfigNamed: os.Getenv(configVariable) != "" && configPath() != "",
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the whole program but for the process around it. It returns the exit
// status.
func run(ctx context.Context, e cli.Env, args []string) int {
	out := &errorWriter{w: e.Out}
	e.Out = out
	root := newRoot(e)
	if err := withConfig(ctx, root, e, args); err != nil {
		e.Complain(args, fmt.Sprintf("verity: %v", err))
		return 2
	}
	root.SetIn(e.In)
	root.SetErr(e.Err)
	args, err := commandLine(root, args)
	cmd, _, _ := root.Find(args) // to be named in an error
	if err == nil {
		root.SetArgs(args)
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to standard output: %w", out.err) // help, for example
	}
	return e.Fail(ctx, cmd.CommandPath(), append(args, preset(cmd)...), err)
}

// commandLine returns the arguments with the command that is meant, in our words.
func commandLine(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsage(root)
		return append(args[:1:1], withCommand(root, args[1:])...), nil
	}
	return cli.Translate(root, withCommand(root, args))
}

// preset returns the values that flags of a command have from the configuration file or the
// environment.
func preset(c *cobra.Command) (values []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cli.FromKey] != nil {
			values = append(values, f.DefValue)
		}
	})
	return values
}

// isTerminal reports whether f is a terminal that knows escape sequences.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// An errorWriter remembers the first error, since some callers ignore it.
type errorWriter struct {
	w   io.Writer
	err error
}

func (c *errorWriter) Write(b []byte) (int, error) {
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

func newRoot(e cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "verity [flags of transcribe] FILE...\n  verity COMMAND [flags]",
		Short:         "Speech to text with Whisper models",
		Version:       cli.Version,
		Long:          rootHelp + cli.ExitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f, ok := e.In.(*os.File); ok {
				if info, err := f.Stat(); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0) {
					return cli.Usagef("no FILE is named; - is standard input: verity -")
				}
			}
			return c.Help()
		},

		// Where no command begins so, the shell offers files: "verity FILE" transcribes.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cobra.EnableCommandSorting = false // the groups have an order of their own
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetGlobalNormalizationFunc(cli.Dashes)
	root.SetOut(e.Out) // before completionCommand, which keeps it
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Transcribe", []*cobra.Command{text.Transcribe(e), text.Listen(e), text.Watch(e), text.Serve(e)}},
		{"Measure", []*cobra.Command{measure.Eval(e), measure.Compare(e), measure.Report(e), measure.Bench(e), measure.Selftest(e)}},
		{"Models", []*cobra.Command{models.Models(e), models.Info(e), models.Quantize(e), models.Synth(e)}},
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
	helpCommand(root)
	completionCommand(root)
	completeOptions(root)
	cli.AddHelp(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return cli.Contradiction(c.Flags()) }
	return root
}

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
	if _, piped := setup.Stdin(first); err == nil || piped || strings.HasPrefix(first, "-") || strings.ContainsAny(first, `./\`) {
		return append([]string{"transcribe"}, args...)
	}
	return args
}

// isCommand reports whether a word is a command of root.
func isCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
}

func versionCommand(e cli.Env) *cobra.Command {
	return cli.New("version", "Print the version", "", func(context.Context, []string) error {
		_, err := fmt.Fprintf(e.Out, "verity %s %s %s/%s\n", cli.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
