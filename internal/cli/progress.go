package cli

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

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
	bar   *progressbar.ProgressBar
	began time.Time
	line  time.Time // when the last line was written
}

// newProgress returns nil where progress is not wanted: with --quiet, between the lines
// of a log, or without a terminal unless it is asked for.
func (t *transcribing) newProgress(name string) *progress {
	bar := t.errTerminal && !t.log.chatty()
	if t.log.quiet || t.progress == "never" || !bar && t.progress != "always" {
		return nil
	}
	return &progress{env: t.env, name: name, lines: !bar, now: time.Now}
}

const (
	barUnits   = 1000             // steps of the bar
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
		p.draw(at, now)
	case now.Sub(p.line) >= lineEvery:
		p.line = now
		fmt.Fprintf(p.err, "%s: %.0f %%%s\n", p.label(at), 100*at.share, p.words(at, now))
	}
}

// draw draws the bar.
func (p *progress) draw(at position, now time.Time) {
	text := p.label(at) + p.words(at, now) + " "
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(barUnits,
			progressbar.OptionSetWriter(p.err),
			progressbar.OptionSetDescription(text), // drawn at once, before the throttle
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(text)
	p.bar.Set64(min(int64(at.share*barUnits), barUnits)) // an error would be one of drawing
}

func (p *progress) label(at position) string {
	if at.count == "" {
		return show.Name(p.name)
	}
	return at.count + " " + show.Name(p.name)
}

// words returns the speed and the time left.
func (p *progress) words(at position, now time.Time) string {
	took := now.Sub(p.began).Seconds()
	if took < 0.5 || at.share < enoughSeen {
		return ""
	}
	left := math.Ceil(took / at.share * (1 - at.share)) // an estimate: whole seconds
	return fmt.Sprintf(", %.1f× real time, %s left", at.audio/took, whole(left))
}

// whole spells a time in whole seconds.
func whole(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.0f s", s)
	}
	return show.Seconds(s)
}

// giveWay clears the bar if text is about to be written to the same terminal. The next
// set draws the bar again, below it.
func (p *progress) giveWay() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil && p.outTerminal {
		p.bar.Clear()
	}
}

// hide clears the bar for a line on its own terminal. The next set draws it again, below.
func (p *progress) hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
	}
}

// clear removes the bar for good.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
}

// loading shows on a terminal that a model is being loaded, until the function it
// returns is called.
func (t *transcribing) loading(name string) (done func()) {
	p := t.newProgress("loading " + name)
	if p == nil || p.lines {
		return func() {}
	}
	bar := progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.err),
		progressbar.OptionSetDescription(show.Name(p.name)),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
	return func() { bar.Finish() }
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
		share: min(sum(b.share)/float64(n), math.Nextafter(1, 0)), // the bar at its end would vanish
		audio: sum(b.audio), count: fmt.Sprintf("%d/%d", b.finished, n),
	})
}
