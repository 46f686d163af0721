package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
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
	"verity/internal/show"
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
		Config: configPath(), ConfigNamed: os.Getenv(configVariable) != "" && configPath() != "",
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run runs the program without its process and returns the exit status.
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
	typed := args
	args, notes, err := commandLine(root, args)
	cmd, _, _ := root.Find(args) // for the name in an error
	if err == nil {
		cmd.Annotations = map[string]string{foreignWords: strings.Join(notes, "\n")}
		if cli.WritesFile(typed) {
			cmd.Annotations[writesFile] = "true"
		}
		root.SetArgs(args)
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to standard output: %w", out.err) // help, for example
	}
	return e.Fail(ctx, cmd.CommandPath(), append(args, preset(cmd)...), inConfig(e, cmd, err))
}

// inConfig adds to an error about a flag that nobody typed where its value comes from.
func inConfig(e cli.Env, c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "--"), " ")
	f := c.Flags().Lookup(name)
	if f == nil || f.Changed || f.Annotations[cli.FromKey] == nil {
		return err
	}
	from := f.Annotations[cli.FromKey][0]
	if !strings.HasPrefix(from, "$") {
		from += " " + show.Name(e.Config)
	}
	return fmt.Errorf("%w; --%s comes from %s", err, name, from)
}

// commandLine adds the command that the arguments leave out, and translates the words of other
// programs. Shells ask for completions of such command lines, too.
func commandLine(root *cobra.Command, args []string) (out, notes []string, err error) {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsage(root)
		completeFlags(root)
		return append(args[:1:1], withCommand(root, args[1:])...), nil, nil
	}
	if err := misread(args); err != nil {
		return args, nil, err
	}
	return cli.Translate(root, withCommand(root, args))
}

// longDash matches a flag that begins with a dash; a text or a name may begin with one, too.
var longDash = regexp.MustCompile(`^[–—]-?([a-z][a-z_-]*)(=.*)?$`)

// misread returns the error of a command line that the shell or a word processor has changed: it has parted a name with
// spaces, or made one long dash of two hyphens.
func misread(args []string) error {
	for i, arg := range args {
		if _, err := os.Stat(arg); err == nil {
			continue
		}
		if m := longDash.FindStringSubmatch(arg); m != nil {
			want := "two hyphens, --" + m[1]
			if len(m[1]) == 1 {
				want = "a hyphen, -" + m[1]
			}
			return cli.Usagef("%s begins with a long dash: type %s", show.Name(arg), want)
		}
		for n := i + 2; n <= min(len(args), i+12); n++ {
			name := strings.Join(args[i:n], " ")
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				words := slices.Concat([]string{"verity"}, args[:i], []string{name}, args[n:])
				for k, word := range words {
					if strings.Contains(word, " ") {
						words[k] = `"` + word + `"`
					}
				}
				return cli.Usagef("a name with spaces needs quotes: %s", strings.Join(words, " "))
			}
		}
	}
	return nil
}

// preset returns the values that flags of a command got from the config file or the environment.
func preset(c *cobra.Command) (values []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cli.FromKey] != nil {
			values = append(values, f.DefValue)
		}
	})
	return values
}

// isTerminal reports whether f is a terminal that understands escape sequences.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// An errorWriter remembers the first error, which cobra ignores when it prints help.
type errorWriter struct {
	w   io.Writer
	err error
}

func (e *errorWriter) Write(b []byte) (int, error) {
	n, err := e.w.Write(b)
	e.err = cmp.Or(e.err, err)
	return n, err
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
			if f, ok := e.In.(*os.File); ok {
				if info, err := f.Stat(); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0) {
					return cli.Usagef("no FILE is named; for standard input, run verity -")
				}
			}
			return c.Help()
		},

		// The shell offers files, too, since "verity FILE" transcribes.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cobra.EnableCommandSorting = false
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetGlobalNormalizationFunc(cli.Dashes)
	root.SetOut(e.Out) // completionCommand remembers it
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Transcribe", []*cobra.Command{text.Transcribe(e), text.Listen(e), text.Watch(e), text.Serve(e), text.Pipe(e)}},
		{"Measure", []*cobra.Command{
			measure.Eval(e), measure.Compare(e), measure.Report(e), measure.Bench(e),
		}},
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
	cli.AddHelp(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if notes := c.Annotations[foreignWords]; notes != "" && !isQuiet(c) {
			e.Complain(nil, "verity: "+strings.ReplaceAll(notes, "\n", "\nverity: "))
		}
		return cli.Contradiction(c.Flags())
	}
	root.PersistentPostRun = func(c *cobra.Command, _ []string) { noteOutput(c, e) }
	return root
}

// Annotations of a command: that its command line would write files in another program, and notes on words of others.
const (
	writesFile   = "writes a file"
	foreignWords = "words of another program"
)

func isQuiet(c *cobra.Command) bool {
	f := c.Flags().Lookup("quiet")
	return f != nil && f.Value.String() == "true"
}

// noteOutput tells users of other programs that the output is not a file.
func noteOutput(c *cobra.Command, e cli.Env) {
	dir := c.Flags().Lookup("output-dir")
	if c.Annotations[writesFile] == "" || dir == nil || dir.Value.String() != "" || isQuiet(c) {
		return
	}
	e.Complain(nil, "verity: the text went to standard output; --output-dir . writes files here")
}

// withCommand makes "verity talk.wav" and "verity -m DIR talk.wav" mean transcribe: the first
// argument is not a command, but a flag, a file or the name of one.
func withCommand(root *cobra.Command, args []string) []string {
	if len(args) == 0 || slices.Contains([]string{"-h", "--help", "-v", "--version"}, args[0]) {
		return args
	}
	first := args[0]
	isCommand := slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == first })
	_, err := os.Stat(first)
	_, piped := setup.Stdin(first)
	isFile := err == nil || piped || strings.ContainsAny(first, `./\`)
	if !isCommand && (isFile || strings.HasPrefix(first, "-")) {
		return append([]string{"transcribe"}, args...)
	}
	return args
}

func versionCommand(e cli.Env) *cobra.Command {
	return cli.New("version", "Print the version", "", func(context.Context, []string) error {
		_, err := fmt.Fprintf(e.Out, "verity %s %s %s/%s\n", setup.Code(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
