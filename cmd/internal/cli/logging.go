package cli

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"

	"github.com/spf13/pflag"

	"verity/internal/show"
)

// The options under the heading Log.
var logRows = []*Option{
	{Name: "quiet", Short: "q", Scope: Configurable | Server, Common: true, Help: "write only errors to standard error"},
	{Name: "log-level", Kind: Choice, Arg: "level", Default: "warn",
		Choices: []string{"debug", "info", "warn", "error"}, Scope: Configurable | Server,
		Help: "log level: debug (every decision), info, warn or error"},
	{Name: "log-format", Kind: Choice, Arg: "format", Default: "auto", Choices: []string{"auto", "text", "json"},
		Scope: Configurable | Server, Help: "log format: text (key=value), json (one object per line), or auto: sentences, " +
			"but text for serve and for the levels info and debug"},
}

// LogFlags decide how much is written to standard error.
type LogFlags struct {
	Quiet    bool
	Records  bool // the log consists of records, as a server's does
	level    string
	format   string
	Progress string // only of commands that run utterances
}

// RegisterQuiet adds --quiet.
func (l *LogFlags) RegisterQuiet(f *pflag.FlagSet) {
	Bind(f, "quiet", &l.Quiet)
}

// RegisterRun adds the flags of commands that run utterances.
func (l *LogFlags) RegisterRun(f *pflag.FlagSet) {
	l.RegisterQuiet(f)
	Bind(f, "progress", &l.Progress)
}

// Register adds the flags of commands that have a log.
func (l *LogFlags) Register(f *pflag.FlagSet) {
	l.RegisterQuiet(f)
	Bind(f, "log-level", &l.level)
	Bind(f, "log-format", &l.format)
}

// JSON reports whether the log consists of JSON objects.
func (l *LogFlags) JSON() bool { return l.format == "json" }

// chatty reports whether frequent log lines would break a progress bar.
func (l *LogFlags) chatty() bool { return l.level == "debug" || l.level == "info" }

// Logger returns the log of the program, and redirects that of libraries to it. It consists of sentences for people,
// unless records are asked for: by a format, by a level that has more than warnings, or by Records.
func (l *LogFlags) Logger(e Env) *slog.Logger {
	level := slog.LevelWarn
	if l.level != "" {
		Must(level.UnmarshalText([]byte(l.level))) // the table has checked it
	}
	if l.Quiet {
		level = slog.LevelError
	}
	o := &slog.HandlerOptions{Level: level}
	logger := slog.New(slog.NewTextHandler(e.Err, o))
	switch {
	case l.JSON():
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr { // durations in seconds; slog would write nanoseconds
			if a.Value.Kind() == slog.KindDuration {
				a.Value = slog.Float64Value(a.Value.Duration().Seconds())
			}
			return a
		}
		logger = slog.New(slog.NewJSONHandler(e.Err, o))
	case l.format != "text" && !l.Records && level >= slog.LevelWarn:
		logger = Sentences(level, func(file, text string) {
			start := "verity: "
			if e.ErrTerminal {
				start = "\r\x1b[K" + start // over a progress bar, which is drawn again below
			}
			if file != "" {
				start += show.Line(file) + ": "
			}
			fmt.Fprintln(e.Err, start+show.Line(text))
		})
	}
	slog.SetDefault(logger)
	// SetDefault also redirects package log. mewkiz/flac would write a line for every frame of
	// a file at 24 kHz.
	log.SetOutput(io.Discard)
	return logger
}

// sentences is a log handler that writes each record as a sentence.
type sentences struct {
	slog.Handler // decides which levels are written
	write        func(file, text string)
	attrs        []slog.Attr
}

// Sentences returns a log that writes each record of a level or above as a sentence, with the file that it is about.
func Sentences(level slog.Level, write func(file, text string)) *slog.Logger {
	levels := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level})
	return slog.New(sentences{Handler: levels, write: write})
}

func (s sentences) WithAttrs(attrs []slog.Attr) slog.Handler {
	s.attrs = slices.Concat(s.attrs, attrs)
	return s
}

func (s sentences) Handle(_ context.Context, r slog.Record) error {
	file, text := "", r.Message
	r.AddAttrs(s.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "audio" {
			file = a.Value.String()
		} else {
			text += fmt.Sprintf(", %s %v", a.Key, a.Value)
		}
		return true
	})
	s.write(file, text)
	return nil
}
