package command

import (
	"io"
	"log"
	"log/slog"

	"github.com/spf13/pflag"
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

// Logger makes the log, and that of libraries, write to w.
func (l *LogFlags) Logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if l.level != "" {
		Must(level.UnmarshalText([]byte(l.level))) // one of the table
	}
	if l.Quiet {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(logger)
	// SetDefault also redirects package log, which libraries use: mewkiz/flac writes a
	// line about every frame of a file at 24 kHz.
	log.SetOutput(io.Discard)
	return logger
}
