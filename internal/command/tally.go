package command

import (
	"fmt"
	"time"

	"verity/internal/show"
)

// A tally shows how many utterances are done, with a short remark: in a bar on a
// terminal, else in a line now and then. The nil *tally shows nothing.
type tally struct {
	Env
	bar         Bar
	now         func() time.Time
	began       time.Time
	line        time.Time // when the last line was written
	done, total int
}

// NewTally returns nil where progress is not wanted. A total of 0 means unknown.
func NewTally(e Env, quiet bool, mode string, total func() int) *tally {
	if quiet || mode == "never" || !e.ErrTerminal && mode != "always" {
		return nil
	}
	began := time.Now()
	return &tally{Env: e, bar: Bar{W: e.Err}, now: time.Now, began: began, line: began, total: total()}
}

// Add counts one utterance.
func (t *tally) Add(word string) {
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
		word += Remaining(now.Sub(t.began), part)
	}
	switch {
	case t.ErrTerminal:
		t.bar.Set(count+": "+word, part)
	case now.Sub(t.line) >= lineEvery:
		t.line = now
		fmt.Fprintf(t.Err, "%s done: %s\n", count, word)
	}
}

// Clear removes the bar.
func (t *tally) Clear() {
	if t != nil {
		t.bar.Clear()
	}
}
