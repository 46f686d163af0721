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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/output"
	"verity/internal/show"
	"verity/tokenizer"
)

const configHelp = `Config keeps defaults for flags in a file, for those who repeat them. A flag on the
command line goes before an environment variable, that before the file, and that
before the default of the program.

  verity config set model small
  verity config set language de
  verity config list

The file has a line for each, key = value; a line that begins with # is a comment.
$VERITY_CONFIG names another file, or is off.

The keys are flags of transcribe. Each holds for eval, compare, serve and info too,
if they have the flag. Records name every option that is not the default of the program.

`

// configVariable names another config file, or turns it off.
const configVariable = "VERITY_CONFIG"

// configured are the commands that take defaults from the config file.
var configured = []string{"transcribe", "eval", "compare", "serve", "info"}

// configKeys are the flags of transcribe that the config file may set, there and in
// the other configured commands that have them.
var configKeys = []string{
	"model", "threads", "language", "task", "output-format", "output-dir", "precision", "batch", "assistant", "vad",
	"word-timestamps", "max-line-width", "max-line-count", "initial-prompt", "hotwords", "beam-size", "best-of",
	"timestamps", "highlight", "progress", "ffmpeg", "quiet", "log-level",
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
	if name, ok := os.LookupEnv(configVariable); ok {
		if name == "off" {
			return ""
		}
		return name
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "verity", "config")
}

// readConfig reads the settings of a file, which need not exist.
func readConfig(path string) ([]setting, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	defer f.Close()
	settings, err := parseConfig(f)
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
		near = "; verity config --help lists them"
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

// origins says which flags that an error may be about are from the config file or the
// environment: nobody sees them on the command line.
func (e env) origins(c *cobra.Command, err error) (text string) {
	message := err.Error()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, configured := f.Annotations[factoryKey]
		fromVariable := f.Name == "model" && os.Getenv(modelVariable) != ""
		about := strings.HasPrefix(message, "--"+f.Name+" "+f.Value.String()) ||
			f.Name == "model" && strings.Contains(message, f.Value.String())
		switch {
		case f.Changed || !about:
		case fromVariable:
			text += fmt.Sprintf(" (%s is set in $%s)", f.Name, modelVariable)
		case configured:
			text += fmt.Sprintf(" (%s is set in the config file %s)", f.Name, show.Name(e.config))
		}
	})
	return text
}

// withConfig applies the config file to the flags of root.
func withConfig(root *cobra.Command, e env, args []string) error {
	settings, err := readConfig(e.config)
	if _, missing := os.Stat(e.config); e.configNamed && missing != nil && err == nil {
		err = fmt.Errorf("config file %s, which $%s names: %w; verity config set makes it, %[2]s=off uses none",
			show.Name(e.config), configVariable, pathCause(missing))
	}
	if err == nil {
		if err = configure(root, settings); err != nil {
			err = fmt.Errorf("config file %s: %w", show.Name(e.config), err)
		}
	}
	if err == nil || needsNoConfig(args) {
		return nil
	}
	return usageError{err}
}

func configCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Keep defaults for flags in a file",
		Long:  configHelp + strings.Join(configKeys, ", ") + "." + exitHelp,
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return listConfig(e) },
	}
	sub := func(use, short, long string, n int, run func(ctx context.Context, args []string) error) {
		c.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long + exitHelp, ValidArgsFunction: completeSetting,
			Args: func(c *cobra.Command, args []string) error {
				if len(args) != n {
					return usagef("want verity config %s, got %s", use, show.Some(len(args), "argument"))
				}
				if n == 0 {
					return nil
				}
				args[0] = string(dashes(nil, args[0]))
				if err := checkKey(args[0]); err != nil {
					return usageError{err}
				}
				return nil
			},
			RunE: func(c *cobra.Command, args []string) error {
				if e.config == "" {
					return usagef("there is no config file: %s is off, or the system names no directory for one", configVariable)
				}
				return run(c.Context(), args)
			},
		})
	}
	sub("list", "List the settings", "List writes the settings of the config file.", 0, func(context.Context, []string) error { return listConfig(e) })
	sub("path", "Say where the file is", "Path writes the path of the config file, which need not exist.", 0, func(context.Context, []string) error {
		_, err := fmt.Fprintln(e.out, e.config)
		return err
	})
	sub("get KEY", "Print a setting", "Get writes the value of a key; the exit status is 1 if the file does not have it.", 1,
		func(_ context.Context, args []string) error { return getConfig(e, args[0]) })
	sub("set KEY VALUE", "Set a default", "Set makes a value the default of a flag. Other lines of the file stay as they are.", 2,
		func(ctx context.Context, args []string) error { return setConfig(ctx, e, args[0], args[1]) })
	sub("unset KEY", "Remove a setting", "Unset removes the line of a key.", 1,
		func(ctx context.Context, args []string) error { return editConfig(ctx, e.config, args[0], "") })
	return c
}

func listConfig(e env) error {
	settings, err := readConfig(e.config)
	if err == nil && len(settings) == 0 {
		where := show.Name(e.config)
		if e.config == "" {
			where = "the config file (there is none)"
		}
		fmt.Fprintf(e.err, "no settings in %s; verity config --help lists the keys\n", where)
	}
	for _, s := range settings {
		if _, err := fmt.Fprintf(e.out, "%s = %s\n", s.key, quoted(s.value)); err != nil {
			return err
		}
	}
	return err
}

func getConfig(e env, key string) error {
	settings, err := readConfig(e.config)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if s.key == key {
			_, err := fmt.Fprintln(e.out, s.value)
			return err
		}
	}
	return fmt.Errorf("%s is not set in %s", key, show.Name(e.config))
}

// setConfig writes a setting after the flag has taken it.
func setConfig(ctx context.Context, e env, key, value string) error {
	if err := configure(newRoot(env{}), []setting{{key, value, 1}}); err != nil {
		return usagef("%s = %s: %w", key, show.Line(value), errors.Unwrap(err))
	}
	return editConfig(ctx, e.config, key, key+" = "+quoted(value))
}

// quoted returns a value in the form that the file needs.
func quoted(value string) string {
	if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || show.Line(value) != value {
		return strconv.Quote(value)
	}
	return value
}

// editConfig replaces the line of a key, or removes it if there is no new one. Everything
// else stays as it is.
func editConfig(ctx context.Context, path, key, line string) error {
	settings, err := readConfig(path)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := strings.SplitAfter(string(raw), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if line != "" {
		line += "\n"
	}
	i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
	switch {
	case i >= 0:
		lines[settings[i].line-1] = line
	case line == "":
		return fmt.Errorf("%s is not set in %s", key, show.Name(path))
	default:
		if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
			lines[n-1] += "\n"
		}
		lines = append(lines, line)
	}
	if err := output.Dir(filepath.Dir(path)); err != nil {
		return err
	}
	return output.Write(ctx, path, nil, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines, ""))
		return err
	})
}
