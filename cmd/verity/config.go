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

const configHelp = `Config prints the flag defaults in the format of the config file, which can change
them. Lines that begin with # show the program's own defaults. A flag on the command
line overrides an environment variable, and a variable overrides the file.

  verity config

The first line names the file. Each line of the file is a setting, key = value. A key is
the name of a transcribe flag; the setting also applies to listen, watch, eval, compare,
serve and info if they have that flag. A key of serve alone, such as listen or
api-key-file, applies to serve. $VERITY_CONFIG specifies another file, or off for none.
Records contain every option that differs from the program's own default.`

// configVariable is the environment variable that names another config file or turns it off.
const configVariable = "VERITY_CONFIG"

// configured lists the commands that read their defaults from the config file.
var configured = []string{"transcribe", "listen", "watch", "eval", "compare", "serve", "info"}

// configurable are the scopes of options that the config file and the environment may set. Those of serve alone apply to
// serve alone.
const configurable = options.Configurable | options.Server

// configKeys returns the names of the options that the config file may set.
func configKeys() (keys []string) {
	for _, o := range options.All() {
		if o.Scope&configurable != 0 {
			keys = append(keys, o.Name)
		}
	}
	return keys
}

// maxConfig is the largest config file, in bytes.
const maxConfig = 64 << 10

// A setting is a line of the config file.
type setting struct {
	key, value string
	line       int // from 1
}

// configPath returns the path of the config file, or "" for none.
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

// readConfig reads the settings of a file; no path means no settings. Errors name the file.
func readConfig(ctx context.Context, path string) ([]setting, error) {
	if path == "" {
		return nil, nil
	}
	text, err := input.Read(ctx, path, maxConfig)
	var settings []setting
	if err == nil {
		settings, err = parseConfig(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", show.Name(path), err)
	}
	return settings, nil
}

// parseConfig reads lines of the form key = value. A value in double quotes is a Go string.
func parseConfig(all string) (settings []setting, err error) {
	for n, text := range input.Lines(all) {
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

// configure makes settings, and then environment variables, the defaults of flags.
func configure(root *cobra.Command, path string, settings []setting) error {
	for _, s := range settings {
		at := fmt.Sprintf("config file %s: line %d: ", show.Name(path), s.line)
		if o := options.Find(s.key); o == nil || o.Scope&configurable == 0 {
			near := cmp.Or(cli.DidYouMean(wer.Nearest(s.key, configKeys())), "; verity config lists them")
			return cli.Usagef("%sthere is no key %s%s", at, show.Line(s.key), near)
		}
		if err := setDefault(root, s.key, s.value, "the config file", commandsOf(s.key)...); err != nil {
			return cli.Usagef("%s%s = %s: %w", at, s.key, show.Line(s.value), err)
		}
	}
	for _, o := range options.All() {
		value := os.Getenv(o.Variable())
		if o.Scope&configurable == 0 || value == "" {
			continue
		}
		if err := setDefault(root, o.Name, value, "$"+o.Variable()); err != nil {
			return cli.Usagef("$%s=%s: %w", o.Variable(), show.Line(value), err)
		}
	}
	return nil
}

// commandsOf returns the commands that the config file may set a flag of.
func commandsOf(key string) []string {
	if options.Find(key).Scope&options.Configurable == 0 {
		return []string{"serve"}
	}
	return configured
}

// setDefault sets the default of a flag in every command that has it, or only in those named.
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

// needsNoConfig lists the commands that must work although the config file is broken: config,
// which helps to repair it, and those that only print information.
var needsNoConfig = []string{
	"config", "manual", "version", "-v", "--version", "help", "-h", "--help", "completion",
	cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd,
}

// withConfig applies the config file to the flags of root. A file that cannot be read is
// skipped with a warning, unless $VERITY_CONFIG names it.
func withConfig(ctx context.Context, root *cobra.Command, e cli.Env, args []string) error {
	if len(args) == 0 || slices.Contains(needsNoConfig, args[0]) {
		return nil
	}
	settings, err := readConfig(ctx, e.Config)
	switch unreadable := errors.As(err, new(syscall.Errno)) || errors.Is(err, input.ErrNotRegular); {
	case errors.Is(err, fs.ErrNotExist) && !e.ConfigNamed:
	case unreadable && !e.ConfigNamed:
		e.Complain(nil, fmt.Sprintf("verity: warning: %v: it is skipped", err))
	case unreadable && os.Getenv(configVariable) != "":
		return cli.Usagef("%w; $%s names it, and %[2]s=off uses none", err, configVariable)
	case err != nil:
		return cli.UsageError{Err: err}
	}
	return configure(root, e.Config, settings)
}

func configCommand(e cli.Env) (c *cobra.Command) {
	c = cli.New("config", "Print flag defaults and where they come from", configHelp,
		func(ctx context.Context, _ []string) error { return printConfig(ctx, c.Root(), e) })
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cli.NoArgs(c, args); err != nil {
			return cli.Usagef("%w; to set a value, edit the file that verity config names", err)
		}
		return nil
	}
	return c
}

// printConfig prints the path of the config file and every key with its value.
func printConfig(ctx context.Context, root *cobra.Command, e cli.Env) error {
	settings, err := readConfig(ctx, e.Config)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil || missing {
		err = configure(root, e.Config, settings)
	}
	if err != nil {
		return err
	}
	state := e.Config
	switch {
	case e.Config == "":
		state = "no config file: $" + configVariable + " is off, or the system names no directory for one"
	case missing:
		state += " (there is no such file yet)"
	}
	text := "# " + show.Line(state) + "\n"
	for _, key := range configKeys() {
		c, _, err := root.Find(commandsOf(key)[:1]) // transcribe, or serve
		if err != nil {
			return err
		}
		f := c.Flags().Lookup(key)
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

// quoted returns a value as the config file must spell it.
func quoted(value string) string {
	if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || show.Line(value) != value {
		return strconv.Quote(value)
	}
	return value
}
