package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress: there is a bar on a terminal, and elsewhere a line every ten seconds if requested. Files in progress at
// the same time add up.
func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		terminal, quiet bool
		mode            string
		want            bool
	}{
		{false, false, "auto", false}, {false, false, "always", true}, {false, true, "always", false}, {true, false, "never", false},
		{true, false, "auto", true}, {true, true, "auto", false},
	} {
		var out bytes.Buffer
		bar := Env{Err: &out, ErrTerminal: tt.terminal}.NewTally(&LogFlags{Quiet: tt.quiet, Progress: tt.mode}, func() int { return 2 })
		if (bar != nil) != tt.want {
			t.Errorf("%+v: got %+v", tt, bar)
		}
		if bar.Add("WER 0.0 %"); bar != nil && (out.Len() > 0) != tt.terminal {
			t.Errorf("%+v: %q", tt, &out)
		}
		bar.Clear()
	}
	var out bytes.Buffer
	always := &LogFlags{Progress: "always"}
	synctest.Test(t, func(*testing.T) {
		tally := Env{Err: &out}.NewTally(always, func() int { return 2000 })
		for range 1500 {
			time.Sleep(16 * time.Millisecond)
			tally.Add("WER 3.2 %, 4.37× real time")
		}
		files := Env{Err: &out}.NewProgress(always, "files", 4)
		files.Within(0, 30, 60)
		time.Sleep(10 * time.Second)
		files.Within(1, 20, 20)
		files.End(1)
		files.End(2) // failed: its audio is not counted
		time.Sleep(10 * time.Second)
		files.Within(0, 60, 60)
	})
	want := "625 of 2,000: 31 %, WER 3.2 %, 4.37× real time, 22 s left\n1,250 of 2,000: 62 %, WER 3.2 %, 4.37× real time, 12 s left\n" +
		"0/4 files: 38 %, 5.0× real time, 17 s left\n2/4 files: 75 %, 4.0× real time, 7 s left\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
