package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"verity/internal/show"
)

// A Bar draws on a terminal which share of some work is done, with a text before it. The
// zero value with a writer is ready.
type Bar struct {
	W     io.Writer
	drawn *progressbar.ProgressBar // nil before set and after clear
}

const barUnits = 1000 // steps of a bar

// Set draws the bar.
func (b *Bar) Set(text string, share float64) {
	text += " "
	if b.drawn == nil {
		b.drawn = progressbar.NewOptions64(barUnits,
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
	b.drawn.Set64(min(int64(share*barUnits), barUnits-1)) // at its end it would vanish; an error would be one of drawing
}

// hide removes the bar from the terminal until the next set, which draws it below what was
// written meanwhile.
func (b *Bar) hide() {
	if b.drawn != nil {
		b.drawn.Clear()
	}
}

// Clear removes the bar; the next set draws another.
func (b *Bar) Clear() {
	b.hide()
	b.drawn = nil
}

// Remaining estimates the time that the rest of some work takes.
func Remaining(took time.Duration, share float64) string {
	left := math.Ceil(took.Seconds() / share * (1 - share)) // an estimate: whole seconds
	if left < 100 {
		return fmt.Sprintf(", %.0f s left", left)
	}
	return fmt.Sprintf(", %s left", show.Seconds(left))
}
