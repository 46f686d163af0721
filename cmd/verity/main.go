package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/measure"
	"verity/cmd/internal/models"
	"verity/cmd/internal/serving"
	"verity/cmd/internal/text"
	"verity/internal/input"
)

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
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run runs the program without its process and returns the exit status.
func run(ctx context.Context, e cli.Env, args []string) int {
	out := &outWriter{w: e.Out}
	if isOneFile(e.Out, e.Err) && !e.OutTerminal {
		e.Err = errWriter{e.Err, out}
	}
	e.Out = out
	root := newRoot(e)
	root.SetIn(e.In)
	root.SetErr(e.Err)
	args = commandLine(root, args)
	root.SetArgs(append([]string{}, args...)) // cobra would take nil for os.Args
	cmd, rest, _ := root.Find(args)           // for the name in an error
	err := cmp.Or(applyVariables(cmd), cli.Unknown(cmd, rest), cli.Repeated(cmd.Flags(), rest))
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if out.err != nil && (err == nil || errors.As(err, new(*fs.PathError)) && errors.Is(err, out.err)) {
		err = fmt.Errorf("writing to standard output: %w", input.Cause(out.err)) // help, for example
	}
	return e.Fail(ctx, cmd.CommandPath(), namingVariable(cmd, err))
}

// commandLine adds the command that the arguments leave out, and translates the flags of other programs.
func commandLine(root *cobra.Command, args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		forEach(root, plainUsage)
		forEach(root, completeFlags)
		return append(args[:1:1], withCommand(root, args[1:])...)
	}
	args = withCommand(root, args)
	cmd, _, _ := root.Find(args)
	return cli.Translate(cmd, args)
}

// isTerminal reports whether f is a terminal that understands escape sequences.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

const rootHelp = `Verity transcribes speech with Whisper models, from tiny to large-v3, in pure Go.

The default model is built in: OpenAI's multilingual Whisper base, with 8-bit weights.
Larger models make fewer errors. --model selects one, such as small, or your own
checkpoint.

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
			c.SetOut(e.Err)
			return cmp.Or(c.Help(), cli.Usagef("no FILE is named; for standard input, run verity -"))
		},

		// The shell offers files, too, since "verity FILE" transcribes.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cobra.EnableCommandSorting = false
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetGlobalNormalizationFunc(cli.Normalize)
	root.SetOut(e.Out) // completionCommand remembers it
	root.SetVersionTemplate(versionLine())
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Transcribe", []*cobra.Command{text.Transcribe(e), text.Listen(e), text.Watch(e), serving.Serve(e), text.Pipe(e), text.Decode(e)}},
		{"Measure", []*cobra.Command{
			measure.Eval(e), measure.Compare(e), measure.Report(e), measure.Bench(e),
		}},
		{"Models", []*cobra.Command{models.Models(e), models.Info(e), models.Quantize(e), models.Synth(e)}},
		{"Shell", []*cobra.Command{versionCommand(e), manualCommand(root)}},
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
	forEach(root, cli.AddHelp)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return cli.Contradiction(c.Flags()) }
	return root
}

// withCommand makes "verity talk.wav" and "verity -m DIR talk.wav" mean transcribe: the first
// argument is not a command, but a flag, a file or the name of one.
func withCommand(root *cobra.Command, args []string) []string {
	if len(args) == 0 || slices.Contains([]string{"-h", "--help", "-v", "--version"}, args[0]) {
		return args
	}
	first := args[0]
	if first == "-V" { // as in ffmpeg's and Python's programs
		return []string{"--version"}
	}
	if first == "-help" || first == "-version" { // as ffmpeg has them
		return append([]string{"-" + first}, args[1:]...)
	}
	isCommand := slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == first })
	_, err := os.Lstat(first)
	_, piped := cli.Stdin(first)
	isFile := err == nil || piped || strings.ContainsAny(first, `./\`)
	if !isCommand && (isFile || strings.HasPrefix(first, "-")) {
		return append([]string{"transcribe"}, args...)
	}
	return args
}

func versionCommand(e cli.Env) *cobra.Command {
	return cli.New("version", "Print the version", "", func(context.Context, []string) error {
		_, err := io.WriteString(e.Out, versionLine())
		return err
	})
}

func versionLine() string {
	return fmt.Sprintf("verity %s %s %s/%s\n", cli.Code(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
