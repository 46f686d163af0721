package bench

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"verity/internal/show"
)

// Colours and sizes of the chart.
var (
	plainColor    = color.RGBA{0x9d, 0xb4, 0xd3, 0xff}
	assistedColor = color.RGBA{0x1f, 0x7a, 0x6d, 0xff}
)

const (
	rungWidth   = 95  // points
	chartHeight = 300 // points
	barWidth    = 30  // points
)

// Draw writes the ladder as an SVG: for each arm a bar of tokens per second, with the
// precision, the bytes per token and the word error rate below.
func (l *Ladder) Draw(w io.Writer) error {
	p := plot.New()
	p.Title.Text = l.Model
	p.Y.Label.Text = "tokens per second of decoding"
	p.Y.Min = 0
	p.X.LineStyle.Width, p.X.Tick.Length = 0, 0
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	p.Add(grid)
	names := make([]plot.Tick, len(l.Rungs))
	plain, assisted := make(plotter.Values, len(l.Rungs)), make(plotter.Values, len(l.Rungs))
	for i, r := range l.Rungs {
		names[i] = plot.Tick{Value: float64(i), Label: r.label()}
		if plain[i] = r.Plain.Rate; r.Assisted != nil {
			assisted[i] = r.Assisted.Rate
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(names)
	half := vg.Points(barWidth / 2)
	if l.Assistant == "" {
		half = 0
	}
	if err := addBars(p, plain, plainColor, -half, "plain"); err != nil {
		return err
	}
	if l.Assistant != "" {
		if err := addBars(p, assisted, assistedColor, half, "with assistant"); err != nil {
			return err
		}
	}
	p.X.Min, p.X.Max = -0.6, float64(len(l.Rungs))-0.4
	p.Y.Max *= 1.25 // room for the legend
	c := vgsvg.New(vg.Points(float64(80+rungWidth*len(l.Rungs))), vg.Points(chartHeight))
	p.Draw(draw.Crop(draw.New(c), 8, -8, 4, -8))
	_, err := c.WriteTo(w)
	return err
}

// label returns the text below the bars of a rung.
func (r Rung) label() string {
	s := fmt.Sprintf("%s\n%s MB", r.Precision, show.Digits(r.Plain.BytesPerToken/1e6))
	if r.WER != nil {
		s += "\nWER " + show.Percent(r.WER.Value)
	}
	return s
}

// addBars adds bars with their values above them.
func addBars(p *plot.Plot, values plotter.Values, c color.Color, offset vg.Length, name string) error {
	chart, err := plotter.NewBarChart(values, vg.Points(barWidth))
	if err != nil {
		return err
	}
	chart.Color, chart.LineStyle.Width, chart.Offset = c, 0, offset
	points := plotter.XYLabels{}
	for i, v := range values {
		points.XYs = append(points.XYs, plotter.XY{X: float64(i), Y: v})
		points.Labels = append(points.Labels, show.Digits(v))
	}
	numbers, err := plotter.NewLabels(points)
	if err != nil {
		return err
	}
	for i := range numbers.TextStyle {
		numbers.TextStyle[i].XAlign, numbers.TextStyle[i].YAlign = draw.XCenter, draw.YBottom
	}
	numbers.Offset = vg.Point{X: offset, Y: vg.Points(3)}
	p.Add(chart, numbers)
	p.Legend.Add(name, chart)
	return nil
}
