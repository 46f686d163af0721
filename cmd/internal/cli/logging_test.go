package cli

import (
	"strings"
	"testing"
	"time"
)

// TestSentences: warnings are sentences; a format, a lower level or a server makes records.
func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		flags    LogFlags
		want     string
	}{
		{true, LogFlags{level: "warn", format: "auto"}, "\r\x1b[Kverity: a\\nb.wav: late, pass 3\n"},
		{false, LogFlags{}, "verity: a\\nb.wav: late, pass 3\n"},
		{true, LogFlags{level: "info"}, "level=WARN msg=late"},
		{false, LogFlags{format: "text"}, "level=WARN msg=late"},
		{false, LogFlags{Records: true}, "level=WARN msg=late"},
	} {
		var b strings.Builder
		l := &tt.flags
		log := l.Logger(Env{Err: &b, ErrTerminal: tt.terminal}).With("audio", "a\nb.wav")
		log.Debug("not written")
		log.Warn("late", "pass", 3)
		if got := b.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "not written") {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}

// TestJSONLog: the log in JSON has an object for each line, and durations in seconds.
func TestJSONLog(t *testing.T) {
	var b strings.Builder
	l := &LogFlags{level: "info", format: "json"}
	l.Logger(Env{Err: &b, ErrTerminal: true}).Info("request", "took", 1500*time.Millisecond)
	if got := b.String(); !strings.HasSuffix(got, `"level":"INFO","msg":"request","took":1.5}`+"\n") {
		t.Errorf("got %q", got)
	}
}
