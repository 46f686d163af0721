package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"verity/transcript"
)

// Placeholder colours. Each is replaced by a variable of the page's style sheet, so
// that plots follow its light and dark styles.
var (
	ink   = color.RGBA{0x01, 0x02, 0x03, 0xff}
	faint = color.RGBA{0x01, 0x02, 0x04, 0xff}
	bars  = color.RGBA{0x01, 0x02, 0x05, 0xff}
	mark  = color.RGBA{0x01, 0x02, 0x06, 0xff}
)

var variables = strings.NewReplacer(
	"#010203", "var(--muted)", "#010204", "var(--line)", "#010205", "var(--accent)", "#010206", "var(--ink)",
)

// Width and height of plots, and the font size, in points.
const (
	plotWidth, plotHeight = 390, 235
	letters               = 12.5
)

// A bar is one bar of a chart. Its label is below its middle, or below its left edge if
// edge is set.
type bar struct {
	label string
	value float64
	edge  bool
}

// maxLabels is how many labels fit below a chart.
const maxLabels = 9

// barChart draws bars from left to right, with as many labels as fit.
func barChart(bs []bar, x, y string, marks ...bar) template.HTML {
	p := newPlot(x, y)
	values := make(plotter.Values, len(bs))
	ticks := make([]plot.Tick, len(bs))
	every := (len(bs) + maxLabels - 1) / maxLabels
	for i, b := range bs {
		values[i] = b.value
		ticks[i].Value = float64(i)
		if b.edge {
			ticks[i].Value -= 0.5
		}
		if i%every == 0 || b.edge {
			ticks[i].Label = b.label
		}
	}
	width := 0.8 * float64(plotWidth-70) / float64(max(len(bs), 1))
	chart, err := plotter.NewBarChart(values, vg.Points(math.Min(width, 60)))
	if err != nil {
		return ""
	}
	chart.Color, chart.LineStyle.Width = bars, 0
	p.Add(chart)
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = -0.7, float64(len(bs))-0.3
	p.Y.Min = 0
	p.Y.Max *= 1.04
	p.Y.Tick.Marker = plot.TickerFunc(wholeTicks)
	for _, m := range marks {
		upright(p, m.value, m.label)
	}
	return svg(p, inWords(bs, x, y))
}

// inWords describes a chart for screen readers.
func inWords(bs []bar, x, y string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Bars: %s by %s", y, x)
	for _, v := range bs {
		if v.label != "" && v.value > 0 {
			fmt.Fprintf(&b, "; %s: %s", v.label, strconv.FormatFloat(v.value, 'f', 1, 64))
		}
	}
	return b.String()
}

// wholeTicks returns at most five round whole numbers: bars show counts or percentages.
func wholeTicks(_, top float64) (ticks []plot.Tick) {
	step := 1.0
	for i := 0; top/step > 5; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, …
	}
	for v := 0.0; v <= top; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

// upright draws a vertical line at x, with a word beside it.
func upright(p *plot.Plot, x float64, word string) {
	top := p.Y.Max * 1.12
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: 0}, {X: x, Y: top}})
	if err != nil {
		return
	}
	line.Color, line.Width = mark, vg.Points(1.5)
	line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: top}}, Labels: []string{word}})
	if err != nil {
		return
	}
	style := &labels.TextStyle[0]
	style.Font.Size, style.Color, style.YAlign = vg.Points(letters), mark, draw.YTop
	labels.Offset.X = vg.Points(5)
	if x > p.X.Min+0.7*(p.X.Max-p.X.Min) {
		// The page's font may be wider than the one gonum measures.
		style.XAlign, labels.Offset.X = draw.XRight, vg.Points(-30)
	}
	p.Add(line, labels)
	p.Y.Max = top
}

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = faint, faint, ink, ink
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = vg.Points(letters), vg.Points(letters)
		a.Label.Padding = vg.Points(4)
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Tick.Length, p.X.LineStyle.Width = 0, vg.Points(1)
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	p.Y.Padding = vg.Points(4)
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Vertical.Color = 0, nil
	grid.Horizontal.Color, grid.Horizontal.Width = faint, vg.Points(0.7)
	p.Add(grid)
	return p
}

var (
	svgHead  = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`)
	svgFonts = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;?`)
)

// svg returns a plot as an SVG element that scales to the width of its container.
func svg(p *plot.Plot, alternative string) template.HTML {
	c := vgsvg.New(vg.Points(plotWidth), vg.Points(plotHeight))
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "" // writing to a buffer does not fail
	}
	label := strings.ReplaceAll(template.HTMLEscapeString(alternative), "$", "")
	s := svgHead.ReplaceAllString(b.String(), `<svg role="img" aria-label="`+label+`"`)
	s = svgFonts.ReplaceAllString(s, "")
	return template.HTML(variables.Replace(s)) // contains only numbers and our own words
}

// speedPlot shows the distribution of decoding speed-ups over utterances.
func speedPlot(c *Comparison) template.HTML {
	if len(c.decode) < 5 {
		return "" // too few: the numbers are enough
	}
	low, width, n := bins(c.decode)
	bs := make([]bar, n)
	every, first := 1, int(math.Round(low/width))
	for i := 0; (n+every-1)/every > maxLabels-1; i++ {
		every = []int{2, 5, 10}[min(i, 2)]
	}
	for i := range bs {
		if bs[i].edge = true; (first+i)%every == 0 {
			bs[i].label = strconv.FormatFloat(low+float64(i)*width, 'f', decimals(float64(every)*width), 64)
		}
	}
	for _, v := range c.decode {
		i := int((v - low) / width)
		bs[min(max(i, 0), n-1)].value++
	}
	at := (c.Speedup.Decode.Median-low)/width - 0.5
	return barChart(bs, "times as fast", "pairs of runs",
		bar{label: fmt.Sprintf("median %.2f", c.Speedup.Decode.Median),
			value: math.Min(math.Max(at, -0.5), float64(n)-0.5)})
}

// decimals returns how many decimal places multiples of a round step need, at most two.
func decimals(step float64) int {
	for d, scale := range []float64{1, 10} {
		if v := step * scale; math.Abs(v-math.Round(v)) < 1e-9 {
			return d
		}
	}
	return 2
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

// acceptancePlot shows the number of rounds by accepted tokens. Rounds without a draft
// are a bar of their own: they could accept nothing.
func acceptancePlot(c *Comparison) template.HTML {
	a := c.Acceptance
	if a.Drafted == 0 {
		return ""
	}
	var bs []bar
	share := func(n int) float64 { return 100 * transcript.Ratio(float64(n), float64(a.Rounds)) }
	if a.Empty > 0 {
		bs = append(bs, bar{label: "no draft", value: share(a.Empty)})
	}
	for i, n := range a.Histogram {
		if i == 0 {
			n -= min(n, a.Empty)
		}
		bs = append(bs, bar{label: fmt.Sprint(i), value: share(n)})
	}
	return barChart(bs, "drafted tokens accepted in a round", "% of rounds")
}

// errorPlot shows the distribution of word error rates over utterances.
func errorPlot(s *Score) template.HTML {
	if s.Exact == s.Scored {
		return ""
	}
	bs := []bar{{label: "0"}}
	for i := range 10 {
		bs = append(bs, bar{label: fmt.Sprint(10 * (i + 1))})
	}
	bs = append(bs, bar{label: "more"})
	for t, n := range s.bins {
		at := 11
		if r := t.Rate(); r <= 1 {
			at = int(math.Ceil(r*10 - 1e-9))
		}
		bs[at].value += float64(n)
	}
	for len(bs) > 4 && bs[len(bs)-1].value == 0 {
		bs = bs[:len(bs)-1] // drop the empty bins at the end
	}
	return barChart(bs, "errors in 100 words, up to ...", "utterances")
}
