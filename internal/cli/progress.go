package cli

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"verity/internal/show"
)

// A progress shows the progress of the work: a bar on a terminal, else a line now and
// then. The nil *progress shows nothing. It is safe for concurrent use.
type progress struct {
	env
	name  string // of the work
	lines bool   // lines instead of a bar
	now   func() time.Time

	mu    sync.Mutex
	bar   bar
	began time.Time
	line  time.Time // when the last line was written
}

// newProgress returns nil where progress is not wanted: with --quiet, between the lines
// of a log, or without a terminal unless it is asked for.
func (t *transcribing) newProgress(name string) *progress {
	drawn := t.errTerminal && !t.log.chatty()
	if t.log.quiet || t.progress == "never" || !drawn && t.progress != "always" {
		return nil
	}
	return &progress{env: t.env, name: name, lines: !drawn, now: time.Now, bar: bar{w: t.err}}
}

const (
	lineEvery  = 10 * time.Second // between lines
	enoughSeen = 0.01             // share of the work that tells how long the rest takes
)

// A position is a point in the progress of the work.
type position struct {
	share float64 // of all
	audio float64 // seconds of audio that are done
	count string  // how many files of how many; may be empty
}

// seconds shows that done of total seconds of audio are done.
func (p *progress) seconds(done, total float64) {
	if total > 0 {
		p.set(position{share: done / total, audio: done})
	}
}

// set shows a position.
func (p *progress) set(at position) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.began.IsZero() {
		p.began, p.line = now, now
	}
	switch {
	case !p.lines:
		p.bar.set(p.label(at)+p.words(at, now), at.share)
	case now.Sub(p.line) >= lineEvery:
		p.line = now
		fmt.Fprintf(p.err, "%s: %.0f %%%s\n", p.label(at), 100*at.share, p.words(at, now))
	}
}

func (p *progress) label(at position) string {
	if at.count == "" {
		return show.Name(p.name)
	}
	return at.count + " " + show.Name(p.name)
}

// words returns the speed and the time left.
func (p *progress) words(at position, now time.Time) string {
	took := now.Sub(p.began)
	if took < time.Second/2 || at.share < enoughSeen {
		return ""
	}
	return fmt.Sprintf(", %.1f× real time%s", at.audio/took.Seconds(), remaining(took, at.share))
}

// giveWay clears the bar if text is about to be written to the same terminal. The next
// set draws the bar again, below it.
func (p *progress) giveWay() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outTerminal {
		p.bar.hide()
	}
}

// hide clears the bar for a line on its own terminal. The next set draws it again, below.
func (p *progress) hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.hide()
}

// clear removes the bar for good.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.clear()
}

// loading shows on a terminal that a model is being loaded, until the function it
// returns is called.
func (t *transcribing) loading(name string) (done func()) {
	p := t.newProgress("loading " + name)
	if p == nil || p.lines {
		return func() {}
	}
	t.watch(show.Name(p.name))
	return t.unwatch
}

// A board adds up the progress of several files that are transcribed at the same time.
type board struct {
	bar *progress

	mu       sync.Mutex
	share    []float64
	audio    []float64
	finished int
}

func newBoard(bar *progress, files int) *board {
	return &board{bar: bar, share: make([]float64, files), audio: make([]float64, files)}
}

// within shows that of file i done of total seconds are done.
func (b *board) within(i int, done, total float64) {
	b.change(func() {
		b.audio[i] = done
		if total > 0 {
			b.share[i] = min(done/total, 1)
		}
	})
}

// end shows that file i is done, or has failed.
func (b *board) end(i int) {
	b.change(func() { b.share[i], b.finished = 1, b.finished+1 })
}

func (b *board) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	sum := func(list []float64) (all float64) {
		for x := range slices.Values(list) {
			all += x
		}
		return all
	}
	n := len(b.share)
	b.bar.set(position{
		share: sum(b.share) / float64(n), audio: sum(b.audio), count: fmt.Sprintf("%d/%d", b.finished, n),
	})
}
