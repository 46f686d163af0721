package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"verity/internal/show"
	"verity/transcript"
)

// A chart is a table whose last column is a bar.
type chart struct {
	Title, Note string
	Label, Unit string // heads of the columns
	Bars        []bar
}

// A bar is one row of a chart.
type bar struct {
	Label, Value string
	Width        float64 // % of the longest
	value        float64
}

// newChart returns the chart of bars. format spells a value.
func newChart(title, label, unit string, bars []bar, format func(float64) string) *chart {
	top := 0.0
	for _, b := range bars {
		top = max(top, b.value)
	}
	for i := range bars {
		b := &bars[i]
		b.Value, b.Width = format(b.value), 100*transcript.Ratio(b.value, top)
	}
	return &chart{Title: title, Label: label, Unit: unit, Bars: bars}
}

func wholeNumber(n float64) string { return show.Count(int(n)) }

func percentage(percent float64) string { return fmt.Sprintf("%.1f %%", percent) }

// charts returns those of a comparison.
func charts(c *Comparison) []*chart {
	return slices.DeleteFunc([]*chart{speedChart(c), acceptanceChart(c)}, func(x *chart) bool { return x == nil })
}

// speedChart shows the distribution of decoding speed-ups over pairs of runs.
func speedChart(c *Comparison) *chart {
	if len(c.decode) < fewPairs {
		return nil // the numbers are enough
	}
	low, width, n := bins(c.decode)
	bars := make([]bar, n)
	for i := range bars {
		from := low + float64(i)*width
		bars[i].Label = fmt.Sprintf("%.2f to %.2f", from, from+width)
	}
	for _, v := range c.decode {
		bars[min(max(int((v-low)/width), 0), n-1)].value++
	}
	x := newChart("Speed-up of decoding", "times as fast", "pairs of runs", bars, wholeNumber)
	x.Note = fmt.Sprintf("Half of the pairs are above %.2f.", c.Speedup.Decode.Median)
	return x
}

// bins divides values into at most 12 bins of a round width. Outliers go into the first
// and the last bin.
func bins(sorted []float64) (low, width float64, n int) {
	first, last := sorted[len(sorted)/100], sorted[len(sorted)-1-len(sorted)/100]
	width = 0.01
	for i := 0; (last-first)/width > 11; i++ {
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
	part := func(n int) float64 { return 100 * transcript.Ratio(float64(n), float64(a.Rounds)) }
	if a.Empty > 0 {
		bars = append(bars, bar{Label: "no draft", value: part(a.Empty)})
	}
	for i, n := range a.Histogram {
		if i == 0 {
			n -= min(n, a.Empty)
		}
		bars = append(bars, bar{Label: strconv.Itoa(i), value: part(n)})
	}
	return newChart("Accepted tokens a round", "drafted tokens accepted", "of rounds", bars, percentage)
}
