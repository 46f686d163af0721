package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"verity/internal/show"
)

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

// Remaining estimates how long the rest of some work takes, as the end of a sentence.
func Remaining(took time.Duration, share float64) string {
	left := math.Ceil(took.Seconds() / share * (1 - share))
	if left < 100 {
		return fmt.Sprintf(", %.0f s left", left)
	}
	return fmt.Sprintf(", %s left", show.Seconds(left))
}
