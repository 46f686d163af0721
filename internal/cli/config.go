package cli

import (
	"bufio"
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
	"github.com/spf13/pflag"

	"verity/internal/input"
	"verity/internal/show"
	"verity/tokenizer"
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
var configured = []string{"transcribe", "eval", "compare", "serve", "info"}

// configKeys are the flags of transcribe that the config file may set, there and in
// the other configured commands that have them.
var configKeys = []string{
	"model", "threads", "language", "task", "output-format", "output-dir", "precision", "batch", "assistant", "vad",
	"word-timestamps", "max-line-width", "max-line-count", "initial-prompt", "hotwords", "beam-size", "best-of",
	"timestamps", "highlight", "progress", "ffmpeg", "strict", "quiet", "log-level",
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

// readConfig reads the settings of a file. Errors name it.
func readConfig(ctx context.Context, path string) ([]setting, error) {
	f, err := input.Open(ctx, path)
	var settings []setting
	if err == nil {
		defer f.Close()
		settings, err = parseConfig(f)
	}
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", show.Name(path), err)
	}
	return settings, nil
}

// pathCause returns the cause of an error without the system call and the path.
func pathCause(err error) error {
	if e := new(fs.PathError); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// parseConfig reads lines of the form key = value. A value in double quotes has escapes
// as in Go.
func parseConfig(r io.Reader) (settings []setting, err error) {
	limited := &io.LimitedReader{R: r, N: configMost + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, configMost+2)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		s := setting{string(dashes(nil, strings.TrimSpace(key))), strings.TrimSpace(value), n}
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
	if limited.N == 0 {
		return nil, fmt.Errorf("it is larger than %d bytes", configMost)
	}
	return settings, lines.Err()
}

// checkKey refuses a key that the config file does not have.
func checkKey(key string) error {
	if slices.Contains(configKeys, key) {
		return nil
	}
	near := didYouMean(nearest(key, configKeys))
	if near == "" {
		near = "; verity config lists them"
	}
	return fmt.Errorf("there is no key %s%s", show.Line(key), near)
}

// factoryKey is the annotation of a flag whose default is from the config file: the
// default of the program.
const factoryKey = "verity_factory"

// factory returns the default that the program gives a flag.
func factory(f *pflag.Flag) string {
	if d := f.Annotations[factoryKey]; len(d) == 1 {
		return d[0]
	}
	return f.DefValue
}

// configure makes settings the defaults of flags.
func configure(root *cobra.Command, settings []setting) error {
	for _, s := range settings {
		if err := checkKey(s.key); err != nil {
			return fmt.Errorf("line %d: %w", s.line, err)
		}
		if s.key == "model" && os.Getenv(modelVariable) != "" {
			continue
		}
		for _, c := range root.Commands() {
			f := c.Flags().Lookup(s.key)
			if f == nil || !slices.Contains(configured, c.Name()) {
				continue
			}
			err := setDefault(f, s.value)
			if err == nil {
				err = checkValue(f.Name, f.Value.String())
			}
			if err != nil {
				return fmt.Errorf("line %d: %s = %s: %w", s.line, s.key, show.Line(s.value), err)
			}
		}
	}
	return nil
}

// checkValue refuses what a flag takes when it is parsed but no command takes later: the
// error must name the file, not a flag that nobody wrote.
func checkValue(key, value string) error {
	n, _ := strconv.Atoi(value) // 0 for what is no number
	var err error
	switch key {
	case "language":
		// A checkpoint may have a language of its own, under a code.
		if len(value) > 3 && !strings.EqualFold(value, "auto") && !tokenizer.KnownLanguage(value) {
			return errors.New("want the code or name of a language, as en or English, or auto")
		}
	case "task":
		err = oneOf(key, value, "transcribe", "translate")
	case "highlight":
		err = oneOf(key, value, highlightModes...)
	case "progress":
		err = oneOf(key, value, progressModes...)
	case "log-level":
		err = oneOf(key, value, logLevels...)
	case "batch":
		err = checkBatch(n)
	case "threads":
		err = checkThreads(n)
	case "max-line-width", "max-line-count", "beam-size", "best-of":
		if n < 0 {
			return errors.New("must be 0 or more")
		}
	}
	if err == nil {
		return nil
	}
	_, reason, _ := strings.Cut(err.Error(), ": ") // the flag and its value come before it
	return errors.New(reason)
}

func setDefault(f *pflag.Flag, value string) error {
	was := f.DefValue
	if err := f.Value.Set(value); err != nil {
		return plain(err, f)
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[factoryKey] = []string{was}
	f.DefValue = f.Value.String()
	return nil
}

// needsNoConfig reports whether a command must work although the config file is broken:
// config, which repairs it, and commands that only print information.
func needsNoConfig(args []string) bool {
	return len(args) == 0 || slices.Contains([]string{"config", "version", "-v", "--version", "help", "-h", "--help", "completion",
		cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0])
}

// withConfig applies the config file to the flags of root. A file that nobody named is
// skipped with a warning if it cannot be read: its place may belong to somebody else.
func withConfig(ctx context.Context, root *cobra.Command, e env, args []string) error {
	if e.config == "" || needsNoConfig(args) {
		return nil
	}
	settings, err := readConfig(ctx, e.config)
	switch unread := errors.As(err, new(syscall.Errno)) || errors.Is(err, input.ErrNotRegular); {
	case errors.Is(err, fs.ErrNotExist) && !e.configNamed:
		return nil
	case unread && !e.configNamed:
		e.complain(nil, fmt.Sprintf("verity: warning: %v: it is skipped", err))
		return nil
	case unread:
		return usagef("%w; $%s names it, and %[2]s=off uses none", err, configVariable)
	case err != nil:
		return usageError{err}
	}
	if err := configure(root, settings); err != nil {
		return usagef("config file %s: %w", show.Name(e.config), err)
	}
	return nil
}

func configCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the defaults of flags and where they are set",
		Long:  configHelp,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return printConfig(c, e) },
	}
}

// printConfig prints the path of the file and every key with its value.
func printConfig(c *cobra.Command, e env) error {
	settings, err := []setting(nil), error(nil)
	if e.config != "" {
		settings, err = readConfig(c.Context(), e.config)
	}
	if err == nil {
		err = configure(c.Root(), settings)
	}
	state := e.config
	switch {
	case e.config == "":
		state = "no config file: $" + configVariable + " is off, or the system names no directory for one"
	case errors.Is(err, fs.ErrNotExist):
		state, err = e.config+" (there is no such file yet)", nil
	}
	if err != nil {
		return err
	}
	transcribe, _, err := c.Root().Find(configured[:1])
	if err != nil {
		return err
	}
	text := "# " + show.Line(state) + "\n"
	for _, key := range configKeys {
		f := transcribe.Flags().Lookup(key)
		switch {
		case key == "model" && os.Getenv(modelVariable) != "":
			text += "# from $" + modelVariable + "\n"
		case slices.ContainsFunc(settings, func(s setting) bool { return s.key == key }):
		default:
			text += "# "
		}
		text += key + " = " + quoted(f.DefValue) + "\n"
	}
	_, err = io.WriteString(e.out, text)
	return err
}

// quoted returns a value in the form that the file needs.
func quoted(value string) string {
	if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || show.Line(value) != value {
		return strconv.Quote(value)
	}
	return value
}
