package needs

import (
	"fmt"
	"strings"
	"testing"
)

// skipped is a test that keeps why it was skipped.
type skipped struct {
	testing.TB
	why string
}

func (s *skipped) Helper()                    {}
func (s *skipped) Skip(args ...any)           { s.Skipf("%s", fmt.Sprint(args...)) }
func (s *skipped) Skipf(f string, arg ...any) { s.why = fmt.Sprintf(f, arg...); panic(s) }

// TestReasons: every helper skips, with a reason that begins with what is missing.
func TestReasons(t *testing.T) {
	t.Setenv("PATH", "")
	for want, need := range map[string]func(t testing.TB){
		"needs ../shared: data/no/such*": func(t testing.TB) { SharedFile(t, "no/such*") },
		"needs ffmpeg: it is":            func(t testing.TB) { Program(t, "ffmpeg") },
		"needs cmp: it is":               func(t testing.TB) { Shell(t, "cmp") },
	} {
		got := &skipped{TB: t}
		func() {
			defer func() { _ = recover() }()
			need(got)
		}()
		if !strings.HasPrefix(got.why, want) && !strings.HasPrefix(got.why, "needs sh: ") {
			t.Errorf("got %q, want %q", got.why, want)
		}
	}
}
