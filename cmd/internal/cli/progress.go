package cli

import (
	"fmt"
	"sync"
	"time"

	"verity/internal/show"
)

// Stage shows on a terminal what is being done, in a line that the next one replaces.
func (e Env) Stage(stage string) {
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
	e.Stage("loading " + show.Name(name))
	return e.ClearStage
}

// ClearStage removes the line of Stage.
func (e Env) ClearStage() {
	if e.ErrTerminal {
		fmt.Fprint(e.Err, "\r\x1b[K")
	}
}

// A Progress shows the progress of the work on some files, or on utterances, which are counted:
// a bar on a terminal, else a line now and then. The nil *Progress shows nothing. It is safe for
// concurrent use.
type Progress struct {
	Env
	name  string // of the work
	lines bool   // lines instead of a bar
	now   func() time.Time

	mu       sync.Mutex
	share    []float64 // of each file that is done
	audio    []float64 // that is done, s
	finished int       // files, or utterances
	total    int       // utterances; 0 means unknown
	bar      Bar
	began    time.Time
	line     time.Time // when the last line was written
}

const (
	lineEvery  = 10 * time.Second // between lines
	enoughSeen = 0.01             // share of the work that tells how long the rest takes
)

// NewProgress returns nil where progress is not wanted: with --quiet, between the lines
// of a log, or without a terminal unless it is asked for.
func (e Env) NewProgress(l *LogFlags, name string, files int) *Progress {
	drawn := e.ErrTerminal && !l.chatty()
	if l.Quiet || l.Progress == "never" || !drawn && l.Progress != "always" {
		return nil
	}
	return &Progress{Env: e, name: name, lines: !drawn, now: time.Now, bar: Bar{W: e.Err}, share: make([]float64, files), audio: make([]float64, files)}
}

// NewTally is NewProgress for utterances. A total of 0 means unknown.
func (e Env) NewTally(l *LogFlags, total func() int) *Progress {
	p := e.NewProgress(l, "", 0)
	if p != nil {
		p.total = total()
		p.began = p.now()
		p.line = p.began
	}
	return p
}

// Add counts an utterance, with a short remark.
func (p *Progress) Add(remark string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	now, count, share := p.now(), show.Count(p.finished), 0.0
	if p.total > 0 {
		count += " of " + show.Count(p.total)
		share = float64(p.finished) / float64(p.total)
	}
	if p.finished < p.total {
		remark += Remaining(now.Sub(p.began), share)
	}
	p.draw(now, share, count+": "+remark, count+" done: "+remark)
}

// Within shows that of file i done of total seconds are done.
func (p *Progress) Within(i int, done, total float64) {
	p.change(func() {
		if p.audio[i] = done; total > 0 {
			p.share[i] = min(done/total, 1)
		}
	})
}

// End shows that file i is done, or has failed.
func (p *Progress) End(i int) {
	p.change(func() { p.share[i], p.finished = 1, p.finished+1 })
}

func (p *Progress) change(do func()) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	n, share, audio := len(p.share), 0.0, 0.0
	for i := range n {
		share, audio = share+p.share[i]/float64(n), audio+p.audio[i]
	}
	label, speed := show.Name(p.name), ""
	if n > 1 {
		label = fmt.Sprintf("%d/%d %s", p.finished, n, label)
	}
	now := p.now()
	if p.began.IsZero() {
		p.began, p.line = now, now
	}
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
