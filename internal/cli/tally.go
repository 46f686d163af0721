package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"verity/internal/show"
)

// registerProgress adds the flag that says when to show progress.
func registerProgress(f *pflag.FlagSet, mode *string) {
	bind(f, "progress", mode)
	f.Lookup("progress").NoOptDefVal = "always"
}

// A tally shows how many utterances are done, with a short remark: in a bar on a
// terminal, else in a line now and then. The nil *tally shows nothing.
type tally struct {
	bar *progressbar.ProgressBar // nil for lines

	out         io.Writer
	now         func() time.Time
	began       time.Time
	line        time.Time // when the last line was written
	done, total int
}

// newTally returns nil where progress is not wanted. A total of 0 means unknown.
func newTally(e env, quiet bool, mode string, total func() int) *tally {
	if quiet || mode == "never" || !e.errTerminal && mode != "always" {
		return nil
	}
	n := total()
	t := &tally{out: e.err, now: time.Now, began: time.Now(), total: n}
	t.line = t.began
	if !e.errTerminal {
		return t
	}
	if n <= 0 {
		n = -1 // a bar that turns
	}
	t.bar = progressbar.NewOptions(n,
		progressbar.OptionSetWriter(e.err),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(),
	)
	return t
}

// add counts one utterance.
func (t *tally) add(word string) {
	if t == nil {
		return
	}
	t.done++
	now := t.now()
	if t.done < t.total {
		word += fmt.Sprintf(", %s left", whole(math.Ceil(now.Sub(t.began).Seconds()/float64(t.done)*float64(t.total-t.done))))
	}
	if t.bar != nil {
		t.bar.Describe(word)
		t.bar.Add(1) // an error would be one of drawing
		return
	}
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
