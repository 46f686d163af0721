package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgressLines: without a terminal there is a line every ten seconds, if requested.
func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	e, l := Env{Err: &out}, &LogFlags{Progress: "auto"}
	if e.NewProgress(l, "x", 1) != nil {
		t.Error("unrequested progress without a terminal")
	}
	l.Progress = "always"
	p := e.NewProgress(l, "2/17 talk.wav", 1)
	now := time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	for i := range 60 {
		p.Within(0, float64(i), 120)
		now = now.Add(500 * time.Millisecond)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines in half a minute, want 2:\n%s", len(lines), out.String())
	}
	if want := "2/17 talk.wav: 17 %, 2.0× real time, 50 s left"; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	l.Quiet = true
	if e.NewProgress(l, "x", 1) != nil {
		t.Error("progress with --quiet")
	}
}

// TestProgressFiles adds up files that are in progress at the same time.
func TestProgressFiles(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	b := Env{Err: &out}.NewProgress(&LogFlags{Progress: "always"}, "files", 4)
	b.now = func() time.Time { return now }
	b.Within(0, 30, 60)
	now = now.Add(10 * time.Second)
	b.Within(1, 20, 20)
	b.End(1)
	b.End(2) // failed: its audio is not counted
	now = now.Add(10 * time.Second)
	b.Within(0, 60, 60)
	want := "0/4 files: 38 %, 5.0× real time, 17 s left\n2/4 files: 75 %, 4.0× real time, 7 s left\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
