package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"verity/internal/show"
)

// registerProgress adds the flag that says when to show progress.
func registerProgress(f *pflag.FlagSet, mode *string) {
	f.StringVar(mode, "progress", "auto", "say how far the work is: auto (on a terminal), always (else a line "+
		"every ten seconds; what the flag alone means), never")
	f.Lookup("progress").NoOptDefVal = "always"
}

// A tally shows how many utterances are done, with a short remark: in a bar on a
// terminal, else in a line now and then. The nil *tally shows nothing.
type tally struct {
	bar *progressbar.ProgressBar // nil for lines

	out         io.Writer
	now         func() time.Time
	line        time.Time // when the last line was written
	done, total int
}

// newTally returns nil where progress is not wanted. A total of 0 means unknown.
func newTally(e env, quiet bool, mode string, total func() int) *tally {
	if quiet || mode == "never" || !e.errTerminal && mode != "always" {
		return nil
	}
	n := total()
	if !e.errTerminal {
		return &tally{out: e.err, now: time.Now, line: time.Now(), total: n}
	}
	if n <= 0 {
		n = -1 // a bar that turns
	}
	return &tally{bar: progressbar.NewOptions(n,
		progressbar.OptionSetWriter(e.err),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// add counts one utterance.
func (t *tally) add(word string) {
	switch {
	case t == nil:
		return
	case t.bar != nil:
		t.bar.Describe(word)
		t.bar.Add(1) // an error would be one of drawing
		return
	}
	t.done++
	now := t.now()
	if now.Sub(t.line) < lineEvery {
		return
	}
	t.line = now
	of := ""
	if t.total > 0 {
		of = " of " + show.Count(t.total)
	}
	fmt.Fprintf(t.out, "%s%s done: %s\n", show.Count(t.done), of, word)
}

// clear removes the bar.
func (t *tally) clear() {
	if t != nil && t.bar != nil {
		t.bar.Clear()
	}
}
