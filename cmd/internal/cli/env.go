package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"verity/internal/show"
	"verity/wer"
)

// An Env is the part of the process that a command may use. Only text goes to out;
// progress and logs go to err.
type Env struct {
	In       io.Reader
	Out, Err io.Writer

	// Whether out and err are terminals.
	OutTerminal, ErrTerminal bool

	// Path of the config file; empty for none.
	Config      string
	ConfigNamed bool // by $VERITY_CONFIG: it must be there
}

// A UsageError is the caller's mistake: it makes the exit status 2, not 1.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// A DiffersError says that outputs differ that must not: the exit status is 3.
type DiffersError struct{ Err error }

func (e DiffersError) Error() string { return e.Err.Error() }

// Usagef is an error of the caller's.
func Usagef(format string, args ...any) error {
	return UsageError{Err: fmt.Errorf(format, args...)}
}

// interrupted is the exit status after a signal, as shells have it for Ctrl-C.
const interrupted = 130

// Complain writes a message. Names among the arguments that hold control characters
// are quoted and all other control characters escaped: a name must neither command the
// terminal nor look like a line of its own. Nor may it fill the screen.
func (e Env) Complain(args []string, message string) {
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=") // of a flag
		for _, said := range []string{arg, value} {
			if name := show.Name(said); name != said {
				message = strings.ReplaceAll(message, said, name)
			}
		}
	}
	for line := range strings.Lines(show.Text(message) + "\n") {
		io.WriteString(e.Err, show.Short(line))
	}
}

// Fail writes why a program has failed, and returns its exit status: 0 for no error.
func (e Env) Fail(ctx context.Context, program string, args []string, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(UsageError)):
		e.Complain(args, fmt.Sprintf("%s: %v\nRun '%[1]s --help' for usage.", program, err))
		return 2
	case ctx.Err() != nil:
		e.Complain(nil, program+": interrupted")
		return interrupted
	}
	e.Complain(args, fmt.Sprintf("%s: %v", program, err))
	if errors.As(err, new(DiffersError)) {
		return 3
	}
	return 1
}

// Color reports whether text on standard output may be coloured.
func (e Env) Color() bool { return e.OutTerminal && os.Getenv("NO_COLOR") == "" }

const ExitHelp = `

Exit status: 0 done, 1 some input failed, 2 wrong usage, 130 interrupted.`

// NoArgs refuses arguments; at the root they are commands that do not exist.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		hint := ""
		if f := c.Flags().Lookup("dataset"); f != nil && !f.Changed {
			hint = "; --dataset names what is to be heard"
		}
		return Usagef("no arguments are taken: got %q%s", args[0], hint)
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	near := DidYouMean(wer.Nearest(args[0], names))
	if near == "" && !c.HasParent() {
		near = ", and no file of that name"
	}
	return Usagef("there is no command %q%s", args[0], near)
}

// Version is the program's, for its records. A program sets it before it runs.
var Version = "development"

// OneOf refuses a value of a flag that is not one of those it takes.
func OneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usagef("--%s %s: want %s", flag, cmp.Or(value, `""`), show.JoinOr(values))
}
