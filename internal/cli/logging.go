package cli

import (
	"io"
	"log"
	"log/slog"

	"github.com/spf13/pflag"
)

// logFlags say how much goes to standard error.
type logFlags struct {
	quiet    bool
	level    string
	progress string // of commands that run utterances
}

func (l *logFlags) registerQuiet(f *pflag.FlagSet) {
	bind(f, "quiet", &l.quiet)
}

// registerRun adds the flags of commands that run utterances.
func (l *logFlags) registerRun(f *pflag.FlagSet) {
	l.registerQuiet(f)
	registerProgress(f, &l.progress)
}

func (l *logFlags) register(f *pflag.FlagSet) {
	l.registerQuiet(f)
	bind(f, "log-level", &l.level)
}

// chatty reports whether frequent log lines would break a progress bar.
func (l *logFlags) chatty() bool { return l.level == "debug" || l.level == "info" }

// logger makes the log, and that of libraries, write to w.
func (l *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	level := slog.LevelWarn
	if l.level != "" {
		if err := level.UnmarshalText([]byte(l.level)); err != nil {
			return nil, err
		}
	}
	if l.quiet {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(logger)
	// SetDefault also redirects package log, which libraries use: mewkiz/flac writes a
	// line about every frame of a file at 24 kHz.
	log.SetOutput(io.Discard)
	return logger, nil
}
