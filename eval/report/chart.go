package report

import (
	"fmt"
	"slices"
	"strconv"

	"verity/transcript"
)

// A bar is one row of the chart of accepted tokens.
type bar struct {
	Label, Value string
	Width        float64 // % of the longest
}

// acceptanceBars returns the shares of rounds by accepted tokens; nil if nothing was drafted. Rounds without a draft are
// a bar of their own: they could accept nothing.
func acceptanceBars(c *Comparison) (bars []bar) {
	a := c.Acceptance
	if a.Drafted == 0 || len(a.Histogram) == 0 {
		return nil
	}
	rounds := slices.Clone(a.Histogram)
	rounds[0] -= min(rounds[0], a.Empty)
	top := float64(max(a.Empty, slices.Max(rounds)))
	add := func(label string, n int) {
		share := transcript.Ratio(float64(n), float64(a.Rounds))
		bars = append(bars, bar{label, fmt.Sprintf("%.1f %%", 100*share), 100 * transcript.Ratio(float64(n), top)})
	}
	if a.Empty > 0 {
		add("no draft", a.Empty)
	}
	for i, n := range rounds {
		add(strconv.Itoa(i), n)
	}
	return bars
}
