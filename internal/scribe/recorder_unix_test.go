//go:build unix

package scribe

import (
	"io"
	"testing"
	"time"
)

// TestRecorder: the error of a recorder is what it prints, and that it gave nothing if it
// prints nothing.
func TestRecorder(t *testing.T) {
	was := patientFor
	t.Cleanup(func() { patientFor = was })
	for _, c := range []struct {
		script   string
		patience time.Duration
		want     string
	}{
		{"exec sleep 60", 50 * time.Millisecond, "it gave no sound for 50ms"},
		{"echo no such device >&2; exec sleep 60", 5 * time.Second, "no such device"},
		{"echo busy >&2; exit 1", time.Minute, "busy"},
		{"exit 3", time.Minute, "exit status 3"},
		{"exit 0", time.Minute, "EOF"},
		{"exec sleep 60 >&-", time.Minute, "signal: killed"},
	} {
		patientFor = c.patience
		if _, err := start(t.Context(), []string{"sh", "-c", c.script}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
	patientFor = time.Minute
	rec, err := start(t.Context(), []string{"sh", "-c", "echo sound"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(rec); string(got) != "sound\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := rec.end(); err != io.EOF {
		t.Errorf("its end: %v", err)
	}
}
