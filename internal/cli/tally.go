package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// A tally shows on a terminal how many utterances are done, with a short remark. The
// nil *tally shows nothing.
type tally struct{ bar *progressbar.ProgressBar }

// newTally returns nil where a bar is not wanted. A total of 0 means unknown.
func newTally(e env, quiet bool, total func() int) *tally {
	if !e.errTerminal || quiet {
		return nil
	}
	n := total()
	if n <= 0 {
		n = -1 // a bar that turns
	}
	return &tally{progressbar.NewOptions(n,
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
	if t == nil {
		return
	}
	t.bar.Describe(word)
	t.bar.Add(1) // an error would be one of drawing
}

// clear removes the bar.
func (t *tally) clear() {
	if t != nil {
		t.bar.Clear()
	}
}
