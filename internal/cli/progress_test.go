package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgressLines wants a line every ten seconds where there is no terminal, and none
// unless it is asked for.
func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	work := transcribing{env: env{err: &out}, progress: "auto"}
	if work.newProgress("x") != nil {
		t.Error("progress without a terminal that nobody asked for")
	}
	work.progress = "always"
	p := work.newProgress("2/17 talk.wav")
	now := time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	for i := range 60 {
		p.seconds(float64(i), 120)
		now = now.Add(500 * time.Millisecond)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines in half a minute, want 2:\n%s", len(lines), out.String())
	}
	if want := "2/17 talk.wav: 17 %, 2.0× real time, 50 s left"; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	work.log.quiet = true
	if work.newProgress("x") != nil {
		t.Error("progress though it is to be quiet")
	}
}

// TestBoard adds up files that are under way at the same time.
func TestBoard(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &progress{env: env{err: &out}, name: "files", lines: true, now: func() time.Time { return now }}
	b := newBoard(p, 4)
	b.within(0, 30, 60)
	now = now.Add(10 * time.Second)
	b.within(1, 20, 20)
	b.end(1)
	b.end(2) // failed: its audio does not count
	now = now.Add(10 * time.Second)
	b.within(0, 60, 60)
	want := "0/4 files: 38 %, 5.0× real time, 17 s left\n2/4 files: 75 %, 4.0× real time, 7 s left\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestLoading shows on a terminal that the model is being loaded, and in a batch how
// many files are done.
func TestLoading(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	names := soundFiles(t, dir, "a.wav", "b.wav", "c.wav")
	var out, err bytes.Buffer
	e := env{out: &out, err: &err, errTerminal: true, outTerminal: true}
	args := append([]string{"transcribe", "-m", model, "--batch", "2", "--temperature-increment-on-fallback=none"}, names...)
	if code := run(t.Context(), e, args); code != 0 {
		t.Fatalf("status %d: %s", code, err.String())
	}
	for _, want := range []string{"loading ", "/3 files"} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("%q is not shown in %q", want, err.String())
		}
	}
}
