package command

import (
	"time"

	"verity/internal/show"
)

// A tally shows how many utterances are done, with a short remark. The nil *tally shows
// nothing.
type tally struct {
	*Progress
	done, total int
}

// NewTally returns nil where progress is not wanted. A total of 0 means unknown.
func NewTally(e Env, quiet bool, mode string, total func() int) *tally {
	p := e.NewProgress(&LogFlags{Quiet: quiet, Progress: mode}, "", 0)
	if p == nil {
		return nil
	}
	p.began = time.Now()
	p.line = p.began
	return &tally{Progress: p, total: total()}
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
	t.draw(now, part, count+": "+word, count+" done: "+word)
}

// Clear removes the bar.
func (t *tally) Clear() {
	if t != nil {
		t.Progress.Clear()
	}
}
