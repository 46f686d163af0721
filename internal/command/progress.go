package command

import (
	"fmt"
	"sync"
	"time"

	"verity/internal/show"
)

// Watch shows on a terminal what is being done, in a line that the next one replaces.
func (e Env) Watch(stage string) {
	if e.ErrTerminal {
		fmt.Fprintf(e.Err, "\r\x1b[K%s …", stage)
	}
}

// Loading shows on a terminal that a model is loaded and warmed up, until the function it
// returns is called.
func (e Env) Loading(l *LogFlags, name string) (done func()) {
	if l.Quiet || l.chatty() || l.Progress == "never" {
		return func() {}
	}
	e.Watch("loading " + show.Name(name))
	return e.Unwatch
}

// Unwatch removes the line of watch.
func (e Env) Unwatch() {
	if e.ErrTerminal {
		fmt.Fprint(e.Err, "\r\x1b[K")
	}
}

// A Progress shows the progress of the work: a bar on a terminal, else a line now and
// then. The nil *progress shows nothing. It is safe for concurrent use.
type Progress struct {
	Env
	name  string // of the work
	lines bool   // lines instead of a bar
	now   func() time.Time

	mu    sync.Mutex
	bar   Bar
	began time.Time
	line  time.Time // when the last line was written
}

const (
	lineEvery  = 10 * time.Second // between lines
	enoughSeen = 0.01             // share of the work that tells how long the rest takes
)

// NewProgress returns nil where progress is not wanted: with --quiet, between the lines
// of a log, or without a terminal unless it is asked for.
func (e Env) NewProgress(l *LogFlags, name string) *Progress {
	drawn := e.ErrTerminal && !l.chatty()
	if l.Quiet || l.Progress == "never" || !drawn && l.Progress != "always" {
		return nil
	}
	return &Progress{Env: e, name: name, lines: !drawn, now: time.Now, bar: Bar{W: e.Err}}
}

// Seconds shows that done of total seconds of audio are done.
func (p *Progress) Seconds(done, total float64) {
	if total > 0 {
		p.set(done/total, done, "")
	}
}

// set shows a share of the work, in which so many seconds of audio are done, with a text
// before its name.
func (p *Progress) set(share, audio float64, before string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.began.IsZero() {
		p.began, p.line = now, now
	}
	label, speed := before+show.Name(p.name), ""
	if took := now.Sub(p.began); took >= time.Second/2 && share >= enoughSeen {
		speed = fmt.Sprintf(", %.1f× real time%s", audio/took.Seconds(), Remaining(took, share))
	}
	p.draw(now, share, label+speed, fmt.Sprintf("%s: %.0f %%%s", label, 100*share, speed))
}

// draw shows a share of the work: text in a bar, or now and then a line.
func (p *Progress) draw(now time.Time, share float64, text, line string) {
	switch {
	case !p.lines:
		p.bar.Set(text, share)
	case now.Sub(p.line) >= lineEvery:
		p.line = now
		fmt.Fprintln(p.Err, line)
	}
}

// GiveWay clears the bar if text is about to be written to the same terminal.
func (p *Progress) GiveWay() {
	if p != nil && p.OutTerminal {
		p.Hide()
	}
}

// Hide clears the bar for a line on its own terminal. The next set draws it again, below.
func (p *Progress) Hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.hide()
}

// Clear removes the bar for good.
func (p *Progress) Clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Clear()
}

// A Board adds up the progress of several files that are transcribed at the same time.
type Board struct {
	bar *Progress

	mu       sync.Mutex
	share    []float64
	audio    []float64
	finished int
}

func NewBoard(bar *Progress, files int) *Board {
	return &Board{bar: bar, share: make([]float64, files), audio: make([]float64, files)}
}

// Within shows that of file i done of total seconds are done.
func (b *Board) Within(i int, done, total float64) {
	b.change(func() {
		b.audio[i] = done
		if total > 0 {
			b.share[i] = min(done/total, 1)
		}
	})
}

// End shows that file i is done, or has failed.
func (b *Board) End(i int) {
	b.change(func() { b.share[i], b.finished = 1, b.finished+1 })
}

func (b *Board) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	n, share, audio := len(b.share), 0.0, 0.0
	for i := range n {
		share, audio = share+b.share[i], audio+b.audio[i]
	}
	b.bar.set(share/float64(n), audio, fmt.Sprintf("%d/%d ", b.finished, n))
}
