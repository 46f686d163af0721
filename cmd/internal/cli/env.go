package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"verity/audio"
	"verity/internal/output"
	"verity/internal/show"
	"verity/model"
	"verity/model/hub"
	"verity/wer"
)

// An Env is the part of the process that a command may use. Results go to Out; progress and
// logs go to Err.
type Env struct {
	In       io.Reader
	Out, Err io.Writer

	OutTerminal, ErrTerminal bool // whether Out and Err are terminals
}

// A UsageError is a mistake in what was typed. The exit status is 2.
type UsageError struct {
	Err      error
	NeedHelp bool // the message does not say what to do
	Named    bool // what an option or argument names cannot be used: see Unusable
}

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// A DiffersError reports that outputs differ that must be equal. The exit status is 3.
type DiffersError struct{ Err error }

func (e DiffersError) Error() string { return e.Err.Error() }

// Usagef formats a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{Err: fmt.Errorf(format, args...)}
}

// Unusable makes an error of opening what the command line names, other than a sound, one of usage. A download that
// fails, an interrupt and a file that changes meanwhile are failed work.
func Unusable(err error) error {
	failed := errors.Is(err, hub.ErrDownload) && !errors.Is(err, hub.ErrNotFound) && !errors.Is(err, hub.ErrToken)
	if err == nil || failed || errors.Is(err, context.Canceled) || errors.Is(err, model.ErrChanged) || errors.As(err, new(UsageError)) {
		return err
	}
	return UsageError{Err: err, Named: true}
}

// OfHub is Unusable for an error of the hub: a name that it does not have is one of usage, the network is not.
func OfHub(err error) error {
	if errors.Is(err, hub.ErrNotFound) || errors.Is(err, hub.ErrToken) || errors.Is(err, hub.ErrOffline) {
		return Unusable(err)
	}
	return err
}

// interrupted is the exit status after a signal: that of shells after Ctrl-C.
const interrupted = 130

// Complain writes a message to Err, in one line without control characters and of bounded length, so that a strange
// file name can neither control the terminal, nor pass for a line of its own, nor fill the screen.
func (e Env) Complain(message string) { fmt.Fprintln(e.Err, show.Short(show.Line(message))) }

// Fail writes why a program failed and returns its exit status, 0 for no error.
func (e Env) Fail(ctx context.Context, program string, err error) int {
	usage, wrong := errors.AsType[UsageError](err)
	if place, ok := errors.AsType[*output.Error](err); ok && place.Unfit {
		wrong = true
	}
	switch {
	case err == nil:
		return 0
	case wrong:
		e.Complain(fmt.Sprintf("%s: %v", program, err))
		if usage.NeedHelp {
			e.Complain(fmt.Sprintf("Run '%s --help' for usage.", program))
		}
		return 2
	case ctx.Err() != nil:
		e.Complain(program + ": interrupted")
		return interrupted
	}
	e.Complain(fmt.Sprintf("%s: %v", program, err))
	if errors.As(err, new(DiffersError)) {
		return 3
	}
	return 1
}

// Color reports whether standard output may be coloured.
func (e Env) Color() bool { return e.OutTerminal && os.Getenv("NO_COLOR") == "" }

// Locale returns the locale of what is printed, such as en_US.UTF-8, as POSIX has it; empty if it is not set.
func Locale() string { return cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_PAPER"), os.Getenv("LANG")) }

// EndHelp ends the help of commands that run until they are stopped.
const EndHelp = "\n\nExit status: 0 stopped, 1 failed, 2 wrong usage, 130 interrupted while starting."

// ExitHelp ends the help of most commands.
const ExitHelp = `

Exit status: 0 done, 1 some input failed, 2 wrong usage, 130 interrupted.`

// NoArgs refuses arguments. To a command with commands under it, an argument is an unknown one.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		hint := ""
		if f := c.Flags().Lookup("dataset"); f != nil && !f.Changed {
			hint = "; use --dataset PATH"
		} else if audio.HasEnding(args[0]) {
			hint = "; verity transcribe takes files"
		} else if f == nil && c.Flags().Lookup("model") != nil {
			hint = "; --model names a model"
		}
		return Usagef("takes no arguments: got %q%s", args[0], hint)
	}
	name := strings.Join(args, " ")
	if near, err := UnknownCommand(c, args[0]); near || c.HasParent() {
		return err
	}
	for _, sub := range c.Commands() { // translate, srt
		if row, _, _ := foreign(sub, []string{"--" + args[0]}); sub.Name() == "transcribe" && row.names != "" && row.ours != "" {
			return Usagef("there is no command %q; use verity %s FILE", args[0], row.ours)
		}
	}
	if _, err := os.Stat(name); err == nil {
		return Usagef("there is no file %q; did you mean %q, in quotes?", args[0], name)
	}
	near := soundsLike(args[0])
	return UsageError{Err: fmt.Errorf("there is no command %q, and no such file%s", args[0], DidYouMean(near)), NeedHelp: len(near) == 0}
}

// UnknownCommand returns the error of a word that is no command under c, and whether it is like one.
func UnknownCommand(c *cobra.Command, word string) (near bool, err error) {
	var names, meant []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, word) || strings.HasPrefix(word, sub.Name()) {
			meant = []string{sub.Name()}
		}
		if c.HasParent() {
			continue
		}
		for _, under := range sub.Commands() {
			if under.Name() == word || slices.Contains(under.SuggestFor, word) {
				meant = []string{sub.Name() + " " + under.Name()}
			}
		}
	}
	if len(meant) == 0 {
		meant = wer.Nearest(strings.ToLower(word), names)
	}
	if len(meant) > 0 {
		return true, Usagef("there is no command %q%s", word, DidYouMean(meant))
	}
	return false, Usagef("there is no command %q; want %s", word, show.JoinOr(names))
}

// OneArg returns a check for exactly one argument.
func OneArg(want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("want %s, got %s", want, map[bool]string{true: "none", false: strconv.Itoa(len(args))}[len(args) == 0])
		}
		return nil
	}
}

// Version is the version of the program, which main sets. Records contain it.
var Version = "development"

// OneOf returns an error if the value of a flag is not among the accepted ones.
func OneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usagef("--%s %s: want %s", flag, cmp.Or(value, `""`), show.JoinOr(values))
}
