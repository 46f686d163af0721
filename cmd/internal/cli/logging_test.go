package cli

import (
	"strings"
	"testing"
	"time"
)

// TestSentences: warnings are sentences on a terminal, and records elsewhere or at lower levels.
func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		level    string
		want     string
	}{
		{true, "warn", "\r\x1b[Kverity: late, pass 3, audio a\\nb.wav\n"},
		{true, "info", "level=WARN msg=late"},
		{false, "", "level=WARN msg=late"},
	} {
		var b strings.Builder
		l := &LogFlags{level: tt.level}
		log := l.Logger(Env{Err: &b, ErrTerminal: tt.terminal}).With("audio", "a\nb.wav")
		log.Debug("not written")
		log.Warn("late", "pass", 3)
		if got := b.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "not written") {
			t.Errorf("%t %q: %q, want %q", tt.terminal, tt.level, got, tt.want)
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
