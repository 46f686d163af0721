package cli

import (
	"fmt"
	"time"

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
	env
	bar         bar
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
	began := time.Now()
	return &tally{env: e, bar: bar{w: e.err}, now: time.Now, began: began, line: began, total: total()}
}

// add counts one utterance.
func (t *tally) add(word string) {
	if t == nil {
		return
	}
	t.done++
	now, count, part := t.now(), show.Count(t.done), 0.0
	if t.total > 0 {
		count += " of " + show.Count(t.total)
		part = float64(t.done) / float64(t.total)
	}
	if t.done < t.total {
		word += remaining(now.Sub(t.began), part)
	}
	switch {
	case t.errTerminal:
		t.bar.set(count+": "+word, part)
	case now.Sub(t.line) >= lineEvery:
		t.line = now
		fmt.Fprintf(t.err, "%s done: %s\n", count, word)
	}
}

// clear removes the bar.
func (t *tally) clear() {
	if t != nil {
		t.bar.clear()
	}
}
