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
	for _, c := range []struct{ script, want string }{
		{"exec sleep 600", "it gave no sound for 50ms"},
		{"echo no such device >&2; exec sleep 600", "no such device"},
		{"echo busy >&2; exit 1", "busy"},
		{"exit 3", "exit status 3"},
		{"exit 0", "EOF"},
		{"exec sleep 600 >&-", "signal: killed"},
	} {
		patientFor = 50 * time.Millisecond
		_, err := start(t.Context(), []string{"sh", "-c", c.script})
		for err != nil && err.Error() != c.want && patientFor < 5*time.Minute { // the shell was late
			patientFor *= 2
			_, err = start(t.Context(), []string{"sh", "-c", c.script})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
	patientFor = 5 * time.Minute
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
