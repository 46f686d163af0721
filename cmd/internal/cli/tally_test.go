package cli

import (
	"bytes"
	"testing"
	"time"
)

// TestTallyLines: without a terminal there is a line every ten seconds, if requested.
func TestTallyLines(t *testing.T) {
	total := func() int { return 2000 }
	for _, tt := range []struct {
		terminal, quiet bool
		mode            string
		want            bool
	}{
		{false, false, "auto", false}, {false, false, "always", true}, {false, true, "always", false}, {true, false, "never", false},
		{true, false, "auto", true}, {true, true, "auto", false},
	} {
		var out bytes.Buffer
		bar := Env{Err: &out, ErrTerminal: tt.terminal}.NewTally(&LogFlags{Quiet: tt.quiet, Progress: tt.mode}, total)
		if (bar != nil) != tt.want {
			t.Errorf("%+v: got %+v", tt, bar)
		}
		if bar.Add("WER 0.0 %"); bar != nil && (out.Len() > 0) != tt.terminal {
			t.Errorf("%+v: %q", tt, &out)
		}
		bar.Clear()
	}
	var out bytes.Buffer
	bar := Env{Err: &out}.NewTally(&LogFlags{Progress: "always"}, total)
	now := bar.began
	bar.now = func() time.Time { return now }
	for range 1500 {
		now = now.Add(16 * time.Millisecond)
		bar.Add("WER 3.2 %, 4.37× real time")
	}
	bar.Clear()
	const want = "625 of 2,000 done: WER 3.2 %, 4.37× real time, 22 s left\n1,250 of 2,000 done: WER 3.2 %, 4.37× real time, 12 s left\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
