package cli

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"verity/internal/show"
)

// Stage names the current stage of work on a terminal, in a line that the next stage replaces.
func (e Env) Stage(stage string) {
	if e.ErrTerminal {
		fmt.Fprintf(e.Err, "\r\x1b[K%s …", stage)
	}
}

// ClearStage removes the line that Stage wrote.
func (e Env) ClearStage() {
	if e.ErrTerminal {
		fmt.Fprint(e.Err, "\r\x1b[K")
	}
}

// A Progress shows how far the work on some files or utterances is: a bar on a terminal, or a
// line every ten seconds. A nil *Progress shows nothing. It is safe for concurrent use.
type Progress struct {
	Env
	name  string // of the work
	lines bool   // lines instead of a bar

	mu       sync.Mutex
	share    []float64 // finished share of each file
	audio    []float64 // finished seconds of each file
	finished int       // files or utterances
	total    int       // utterances; 0 means unknown
	most     float64   // largest share of the utterances that was shown
	bar      Bar
	began    time.Time
	line     time.Time // when the last line was written
}

const lineEvery = 10 * time.Second

// NewProgress returns the progress of some files. It is nil with --quiet, among the lines of a
// log, and without a terminal unless --progress=always.
func (e Env) NewProgress(l *LogFlags, name string, files int) *Progress {
	drawn := e.ErrTerminal && !l.chatty()
	if l.Quiet || l.Progress == "never" || !drawn && l.Progress != "always" {
		return nil
	}
	now := time.Now()
	return &Progress{
		Env: e, name: name, lines: !drawn, bar: Bar{W: e.Err}, began: now, line: now,
		share: make([]float64, files), audio: make([]float64, files),
	}
}

// NewTally returns the progress of some utterances. A total of 0 means unknown.
func (e Env) NewTally(l *LogFlags, total func() int) *Progress {
	p := e.NewProgress(l, "", 0)
	if p != nil {
		p.total = total()
	}
	return p
}

// change runs f, which changes the state and shows it.
func (p *Progress) change(f func()) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Add counts an utterance and shows a short remark.
func (p *Progress) Add(remark string) {
	p.change(func() { p.finished++; p.drawTally(0, ", "+remark) })
}

// Partly shows the finished share of all utterances while one of them is worked on.
func (p *Progress) Partly(share float64) {
	p.change(func() { p.drawTally(share, "") })
}

// drawTally shows the state of the utterances.
func (p *Progress) drawTally(share float64, remark string) {
	count := show.Count(p.finished)
	if p.total > 0 {
		count += " of " + show.Count(p.total)
		share = max(share, float64(p.finished)/float64(p.total))
	}
	p.most = max(p.most, min(share, 1))
	p.draw(p.most, count, remark)
}

// Within shows that done of the total seconds of file i are finished.
func (p *Progress) Within(i int, done, total float64) {
	p.change(func() {
		if p.audio[i] = done; total > 0 {
			p.share[i] = min(done/total, 1)
		}
		p.drawFiles()
	})
}

// End shows that file i is done or has failed.
func (p *Progress) End(i int) {
	p.change(func() {
		p.share[i], p.finished = 1, p.finished+1
		p.drawFiles()
	})
}

// drawFiles shows the state of the files.
func (p *Progress) drawFiles() {
	n, share, audio := len(p.share), 0.0, 0.0
	for i := range n {
		share, audio = share+p.share[i]/float64(n), audio+p.audio[i]
	}
	label, speed := show.Name(p.name), ""
	if n > 1 {
		label = fmt.Sprintf("%d/%d %s", p.finished, n, label)
	}
	if took := time.Since(p.began); canEstimate(took, share) {
		speed = fmt.Sprintf(", %.1f× real time", audio/took.Seconds())
	}
	p.draw(share, label, speed)
}

// draw shows the finished share of the work: a bar beside text, or a line now and then.
func (p *Progress) draw(share float64, label, rest string) {
	rest += Remaining(time.Since(p.began), share)
	switch {
	case !p.lines:
		p.bar.Set(label+rest, share)
	case time.Since(p.line) >= lineEvery:
		p.line = time.Now()
		fmt.Fprintf(p.Err, "%s: %.0f %%%s\n", label, 100*share, rest)
	}
}

// Clear removes the bar to make room for output. The next change draws it again below.
func (p *Progress) Clear() {
	p.change(func() { p.bar.Clear() })
}

// A Bar shows on a terminal which share of some work is done, with a text before it. A Bar
// needs only its writer.
type Bar struct {
	W     io.Writer
	drawn *progressbar.ProgressBar // nil before Set and after Clear
}

const barSteps = 1000

// Set draws the bar. Drawing errors are ignored.
func (b *Bar) Set(text string, share float64) {
	text += " "
	if b.drawn == nil {
		b.drawn = progressbar.NewOptions64(barSteps,
			progressbar.OptionSetWriter(b.W),
			progressbar.OptionSetDescription(text), // drawn at once, before the throttle
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	b.drawn.Describe(text)
	b.drawn.Set64(min(int64(share*barSteps), barSteps-1)) // a full bar would disappear
}

// Clear removes the bar; the next Set draws a new one, below new output.
func (b *Bar) Clear() {
	if b.drawn != nil {
		b.drawn.Clear()
	}
	b.drawn = nil
}

// canEstimate reports whether enough of some work is done to tell how fast it is.
func canEstimate(took time.Duration, share float64) bool {
	return took >= time.Second/2 && share >= 0.01
}

// Remaining estimates how long the rest of some work takes, as the end of a sentence.
func Remaining(took time.Duration, share float64) string {
	left := math.Ceil(took.Seconds() / share * (1 - share))
	switch {
	case !canEstimate(took, share) || share >= 1:
		return ""
	case left < 100:
		return fmt.Sprintf(", %.0f s left", left)
	}
	return fmt.Sprintf(", %s left", show.Seconds(left))
}
