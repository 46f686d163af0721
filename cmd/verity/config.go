package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/internal/input"
	"verity/internal/show"
	"verity/wer"
)

const configHelp = `Config prints the defaults of flags, in the form of the file that can change
them. A line that begins with # is the program's own default. A flag on the command
line goes before an environment variable, that before the file, and that before the
default of the program.

  verity config
  verity config > ~/.config/verity/config

The file has a line for each setting, key = value. $VERITY_CONFIG names another file,
or is off. A key is the name of a flag of transcribe; it holds for eval, compare, serve
and info too, where they have the flag. Records name every option that is not the
default of the program.`

// configVariable names another config file, or turns it off.
const configVariable = "VERITY_CONFIG"

// configured are the commands that take defaults from the config file.
var configured = []string{"transcribe", "listen", "watch", "eval", "compare", "serve", "info"}

// configKeys are the options that the file and $VERITY_… may set.
func configKeys() (keys []string) {
	for _, o := range options.All() {
		if o.Scope&options.Configurable != 0 {
			keys = append(keys, o.Name)
		}
	}
	return keys
}

// configMost is how many bytes a config file may have.
const configMost = 64 << 10

// A setting is a line of the config file.
type setting struct {
	key, value string
	line       int // from 1
}

// configPath is where the config file is; empty if there is none.
func configPath() string {
	switch name := os.Getenv(configVariable); name {
	case "":
	case "off":
		return ""
	default:
		return name
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "verity", "config")
}

// readConfig reads the settings of a file; none of no file. Errors name it.
func readConfig(ctx context.Context, path string) ([]setting, error) {
	if path == "" {
		return nil, nil
	}
	text, err := input.Read(ctx, path, configMost)
	var settings []setting
	if err == nil {
		settings, err = parseConfig(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", show.Name(path), err)
	}
	return settings, nil
}

// parseConfig reads lines of the form key = value. A value in double quotes has escapes
// as in Go.
func parseConfig(all string) (settings []setting, err error) {
	n := 0
	for line := range strings.Lines(all) {
		n++
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		s := setting{string(cli.Dashes(nil, strings.TrimSpace(key))), strings.TrimSpace(value), n}
		if !ok {
			return nil, fmt.Errorf("line %d: got %s, want key = value", n, show.Line(strconv.Quote(text)))
		}
		if strings.HasPrefix(s.value, `"`) {
			if s.value, err = strconv.Unquote(s.value); err != nil {
				return nil, fmt.Errorf("line %d: %s: the quotes do not match", n, show.Line(s.key))
			}
		}
		if i := slices.IndexFunc(settings, func(o setting) bool { return o.key == s.key }); i >= 0 {
			return nil, fmt.Errorf("line %d: %s is in line %d already", n, show.Line(s.key), settings[i].line)
		}
		settings = append(settings, s)
	}
	return settings, nil
}

// configure makes settings, and then variables of the environment, the defaults of flags.
func configure(root *cobra.Command, path string, settings []setting) error {
	for _, s := range settings {
		at := fmt.Sprintf("config file %s: line %d: ", show.Name(path), s.line)
		if o := options.Find(s.key); o == nil || o.Scope&options.Configurable == 0 {
			near := cmp.Or(cli.DidYouMean(wer.Nearest(s.key, configKeys())), "; verity config lists them")
			return cli.Usagef("%sthere is no key %s%s", at, show.Line(s.key), near)
		}
		if err := setDefault(root, s.key, s.value, "the config file", configured...); err != nil {
			return cli.Usagef("%s%s = %s: %w", at, s.key, show.Line(s.value), err)
		}
	}
	for _, o := range options.All() {
		value := os.Getenv(o.Variable())
		if o.Scope&(options.Configurable|options.Server) == 0 || value == "" {
			continue
		}
		if err := setDefault(root, o.Name, value, "$"+o.Variable()); err != nil {
			return cli.Usagef("$%s=%s: %w", o.Variable(), show.Line(value), err)
		}
	}
	return nil
}

// setDefault sets the default of a flag in the commands that have it, of those named or of all.
func setDefault(root *cobra.Command, key, value, from string, commands ...string) error {
	for _, c := range root.Commands() {
		f := c.Flags().Lookup(key)
		if f == nil || len(commands) > 0 && !slices.Contains(commands, c.Name()) {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			return err
		}
		f.DefValue = f.Value.String()
		cli.Must(c.Flags().SetAnnotation(key, cli.FromKey, []string{from}))
	}
	return nil
}

// needsNoConfig reports whether a command must work although the config file is broken:
// config, which repairs it, and commands that only print information.
func needsNoConfig(args []string) bool {
	return len(args) == 0 || slices.Contains([]string{"config", "manual", "version", "-v", "--version", "help", "-h", "--help", "completion",
		cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0])
}

// withConfig applies the config file to the flags of root. A file that nobody named is
// skipped with a warning if it cannot be read: its place may belong to somebody else.
func withConfig(ctx context.Context, root *cobra.Command, e cli.Env, args []string) error {
	if needsNoConfig(args) {
		return nil
	}
	settings, err := readConfig(ctx, e.Config)
	switch unread := errors.As(err, new(syscall.Errno)) || errors.Is(err, input.ErrNotRegular); {
	case errors.Is(err, fs.ErrNotExist) && !e.ConfigNamed:
	case unread && !e.ConfigNamed:
		e.Complain(nil, fmt.Sprintf("verity: warning: %v: it is skipped", err))
	case unread:
		return cli.Usagef("%w; $%s names it, and %[2]s=off uses none", err, configVariable)
	case err != nil:
		return cli.UsageError{Err: err}
	}
	return configure(root, e.Config, settings)
}

func configCommand(e cli.Env) (c *cobra.Command) {
	c = cli.New("config", "Print the defaults of flags and where they are set", configHelp,
		func(ctx context.Context, _ []string) error { return printConfig(ctx, c.Root(), e) })
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cli.NoArgs(c, args); err != nil {
			return cli.Usagef("%w; to set a value, edit the file that verity config names", err)
		}
		return nil
	}
	return c
}

// printConfig prints the path of the file and every key with its value.
func printConfig(ctx context.Context, root *cobra.Command, e cli.Env) error {
	settings, err := readConfig(ctx, e.Config)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil || missing {
		err = configure(root, e.Config, settings)
	}
	state := e.Config
	switch {
	case e.Config == "":
		state = "no config file: $" + configVariable + " is off, or the system names no directory for one"
	case missing:
		state += " (there is no such file yet)"
	}
	if err != nil {
		return err
	}
	transcribe, _, err := root.Find(configured[:1])
	if err != nil {
		return err
	}
	text := "# " + show.Line(state) + "\n"
	for _, key := range configKeys() {
		f := transcribe.Flags().Lookup(key)
		switch from := f.Annotations[cli.FromKey]; {
		case from == nil:
			text += "# "
		case strings.HasPrefix(from[0], "$"):
			text += "# from " + from[0] + "\n"
		}
		text += key + " = " + quoted(f.DefValue) + "\n"
	}
	_, err = io.WriteString(e.Out, text)
	return err
}

// quoted returns a value in the form that the file needs.
func quoted(value string) string {
	if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || show.Line(value) != value {
		return strconv.Quote(value)
	}
	return value
}
