package cli

import (
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows on a terminal how far a file is. The nil *progress shows
// nothing.
type progress struct {
	env
	label string
	bar   *progressbar.ProgressBar
}

// newProgress returns nil where a bar would be noise: not on a terminal, or when
// it is to be quiet, or between the lines of a log.
func (t *transcribing) newProgress(name string) *progress {
	if !t.errTerminal || t.log.quiet || t.log.chatty() {
		return nil
	}
	return &progress{env: t.env, label: filepath.Base(name)}
}

// barUnits is how many steps of the bar a second of audio has.
const barUnits = 100

// set moves the bar to done of total seconds.
func (p *progress) set(done, total float64) {
	if p == nil || !(total > 0) {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(max(1, int64(total*barUnits)),
			progressbar.OptionSetWriter(p.err),
			progressbar.OptionSetDescription(p.label),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Set64(min(int64(done*barUnits), p.bar.GetMax64())) // an error would be one of drawing
}

// giveWay clears the line if text is about to go to the same terminal. The next
// set draws the bar again, below it.
func (p *progress) giveWay() {
	if p != nil && p.bar != nil && p.outTerminal {
		p.bar.Clear()
	}
}

// clear takes the bar away for good.
func (p *progress) clear() {
	if p != nil && p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
}
