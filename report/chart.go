package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"verity/transcript"
)

// A chart is a bar chart as the page's template draws it, in an area of chartWidth by
// chartHeight whose y axis points down.
type chart struct {
	Title, Alt string // Alt describes it for screen readers
	X, Y       string // names of the axes
	Ticks      []tick // of the y axis
	Bars       []bar
	Mark       *bar // a vertical line with a word beside it

}

// A tick is a round value of the y axis.
type tick struct {
	Y     float64
	Label string
}

// A bar is one bar. Its label is below its middle, or below its left edge.
type bar struct {
	Label  string
	X, Y   float64 // of its left upper corner
	W, H   float64
	At     float64 // of its label
	Turned bool    // the label stands left of At
	value  float64
}

// The area of a chart, and of its bars.
const (
	chartWidth, chartHeight = 390, 235
	plotLeft, plotRight     = 48, 384
	plotTop, plotBottom     = 10, 186
	maxLabels               = 9
)

// newChart places bars from left to right, with as many labels as fit.
func newChart(title, x, y string, bars []bar, edges bool) *chart {
	c := &chart{Title: title, X: x, Y: y, Bars: bars}
	top, every := 0.0, (len(bars)+maxLabels-1)/maxLabels
	alt := fmt.Sprintf("Bars: %s by %s", y, x)
	for _, b := range bars {
		top = max(top, b.value)
		if b.Label != "" && b.value > 0 {
			alt += fmt.Sprintf("; %s: %.1f", b.Label, b.value)
		}
	}
	c.Alt = alt
	high := top * 1.04
	for _, v := range roundValues(high) {
		c.Ticks = append(c.Ticks, tick{height(v, high), strconv.FormatFloat(v, 'f', -1, 64)})
	}
	room := float64(plotRight-plotLeft) / float64(max(len(bars), 1))
	for i := range bars {
		b := &bars[i]
		b.W = math.Min(0.8*room, 64)
		b.X = tenth(c.across(float64(i)) + (room-b.W)/2)
		b.Y = height(b.value, high)
		b.H, b.W = tenth(plotBottom-b.Y), tenth(b.W)
		if b.At = tenth(c.across(float64(i) + 0.5)); edges {
			b.At = tenth(c.across(float64(i)))
		} else if i%every > 0 {
			b.Label = ""
		}
	}
	return c
}

// across returns where a number of bars from the left is.
func (c *chart) across(bars float64) float64 {
	return plotLeft + bars*float64(plotRight-plotLeft)/float64(max(len(c.Bars), 1))
}

func height(v, top float64) float64 {
	return tenth(plotBottom - transcript.Ratio(v, top)*(plotBottom-plotTop))
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// mark draws a vertical line a number of bars from the left.
func (c *chart) mark(bars float64, label string) {
	at := tenth(c.across(math.Min(math.Max(bars, 0), float64(len(c.Bars)))))
	c.Mark = &bar{Label: label, X: at, Turned: at > plotLeft+0.7*(plotRight-plotLeft)}
}

// roundValues returns at most five round whole numbers from 0 to top.
func roundValues(top float64) (all []float64) {
	step := 1.0
	for i := 0; top/step > 5; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, …
	}
	for v := 0.0; v <= top; v += step {
		all = append(all, v)
	}
	return all
}

// speedChart shows the distribution of decoding speed-ups over pairs of runs.
func speedChart(c *Comparison) *chart {
	if len(c.decode) < fewPairs {
		return nil // the numbers are enough
	}
	low, width, n := bins(c.decode)
	bars := make([]bar, n)
	every, first := 1, int(math.Round(low/width))
	for i := 0; (n+every-1)/every > maxLabels-1; i++ {
		every = []int{2, 5, 10}[min(i, 2)]
	}
	for i := range bars {
		if (first+i)%every == 0 {
			bars[i].Label = strconv.FormatFloat(low+float64(i)*width, 'f', decimals(float64(every)*width), 64)
		}
	}
	for _, v := range c.decode {
		bars[min(max(int((v-low)/width), 0), n-1)].value++
	}
	x := newChart("Speed-up of decoding", "times as fast", "pairs of runs", bars, true)
	x.mark((c.Speedup.Decode.Median-low)/width, fmt.Sprintf("median %.2f", c.Speedup.Decode.Median))
	return x
}

// decimals returns how many decimal places multiples of a round step need, at most two.
func decimals(step float64) int {
	s := strings.TrimRight(strconv.FormatFloat(step, 'f', 2, 64), "0")
	return len(s) - 1 - strings.IndexByte(s, '.')
}

// bins divides values into at most 24 bins of a round width. Outliers go into the first
// and the last bin.
func bins(sorted []float64) (low, width float64, n int) {
	first, last := sorted[len(sorted)/100], sorted[len(sorted)-1-len(sorted)/100]
	width = 0.01
	for i := 0; (last-first)/width > 23; i++ {
		width *= []float64{2, 2.5, 2}[i%3] // 0.01, 0.02, 0.05, 0.1, …
	}
	low = math.Floor(first/width) * width
	return low, width, int((last-low)/width) + 1
}

// acceptanceChart shows the number of rounds by accepted tokens. Rounds without a draft
// are a bar of their own: they could accept nothing.
func acceptanceChart(c *Comparison) *chart {
	a := c.Acceptance
	if a.Drafted == 0 {
		return nil
	}
	var bars []bar
	share := func(n int) float64 { return 100 * transcript.Ratio(float64(n), float64(a.Rounds)) }
	if a.Empty > 0 {
		bars = append(bars, bar{Label: "no draft", value: share(a.Empty)})
	}
	for i, n := range a.Histogram {
		if i == 0 {
			n -= min(n, a.Empty)
		}
		bars = append(bars, bar{Label: fmt.Sprint(i), value: share(n)})
	}
	return newChart("Accepted tokens a round", "drafted tokens accepted in a round", "% of rounds", bars, false)
}

// errorChart shows the distribution of word error rates over utterances.
func errorChart(s *Score) *chart {
	if s.Exact == s.Scored {
		return nil
	}
	bars := []bar{{Label: "0"}}
	for i := range 10 {
		bars = append(bars, bar{Label: fmt.Sprint(10 * (i + 1))})
	}
	bars = append(bars, bar{Label: "more"})
	for t, n := range s.bins {
		at := 11
		if r := t.Rate(); r <= 1 {
			at = int(math.Ceil(r*10 - 1e-9))
		}
		bars[at].value += float64(n)
	}
	for len(bars) > 4 && bars[len(bars)-1].value == 0 {
		bars = bars[:len(bars)-1] // drop the empty bins at the end
	}
	return newChart("How errors are spread", "errors in 100 words, up to …", "utterances", bars, false)
}
