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

// LogFlags say how much goes to standard error.
type LogFlags struct {
	Quiet    bool
	level    string
	Progress string // of commands that run utterances
}

func (l *LogFlags) RegisterQuiet(f *pflag.FlagSet) {
	Bind(f, "quiet", &l.Quiet)
}

// RegisterRun adds the flags of commands that run utterances.
func (l *LogFlags) RegisterRun(f *pflag.FlagSet) {
	l.RegisterQuiet(f)
	Bind(f, "progress", &l.Progress)
}

func (l *LogFlags) Register(f *pflag.FlagSet) {
	l.RegisterQuiet(f)
	Bind(f, "log-level", &l.level)
}

// chatty reports whether frequent log lines would break a progress bar.
func (l *LogFlags) chatty() bool { return l.level == "debug" || l.level == "info" }

// Logger makes the log, and that of libraries, write to standard error: sentences where people
// read it and do not ask for more, records otherwise.
func (l *LogFlags) Logger(e Env) *slog.Logger {
	level := slog.LevelWarn
	if l.level != "" {
		Must(level.UnmarshalText([]byte(l.level))) // one of the table
	}
	if l.Quiet {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(e.Err, &slog.HandlerOptions{Level: level}))
	if e.ErrTerminal && level >= slog.LevelWarn {
		logger = slog.New(sentences{Handler: logger.Handler(), w: e.Err})
	}
	slog.SetDefault(logger)
	// SetDefault also redirects package log, which libraries use: mewkiz/flac writes a
	// line about every frame of a file at 24 kHz.
	log.SetOutput(io.Discard)
	return logger
}

// sentences writes records for people.
type sentences struct {
	slog.Handler // says which levels are written
	w            io.Writer
	given        []slog.Attr
}

func (s sentences) WithAttrs(given []slog.Attr) slog.Handler {
	s.given = slices.Concat(s.given, given)
	return s
}

func (s sentences) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.AddAttrs(s.given...)
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(", %s %v", a.Key, a.Value)
		return true
	})
	_, err := fmt.Fprintf(s.w, "\r\x1b[Kverity: %s\n", show.Line(text)) // a bar is drawn again below
	return err
}
