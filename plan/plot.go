package plan

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours of a plot, on white.
var (
	plotInk    = color.RGBA{0x22, 0x22, 0x22, 0xff}
	plotFaint  = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	plotMuted  = color.RGBA{0x8a, 0x97, 0xa6, 0xff}
	plotAccent = color.RGBA{0x0b, 0x6e, 0x99, 0xff}
	sans       = font.Font{Typeface: "Liberation", Variant: "Sans"}
)

// neighbours are the chances of acceptance drawn beside the requested one.
var neighbours = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95}

// Draw draws speed-up over draft length for several α, with V if measured, and a dot at
// the best length. For the requested α it also draws the theory without V, dashed. format
// is svg or png.
func Draw(a Assumptions, most int, format string) ([]byte, error) {
	p := newPlanPlot(a, most)
	for _, alpha := range neighbours {
		if alpha != a.Alpha {
			if err := addPlan(p, a, alpha, most, false); err != nil {
				return nil, err
			}
		}
	}
	if err := addPlan(p, a, a.Alpha, most, true); err != nil {
		return nil, err
	}
	const width, height = 20 * vg.Centimeter, 12.5 * vg.Centimeter
	var b bytes.Buffer
	var c vg.CanvasWriterTo
	if format == "svg" {
		c = vgsvg.New(width, height)
	} else {
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
	}
	p.Draw(draw.Crop(draw.New(c), 10, -16, 10, -10))
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

func newPlanPlot(a Assumptions, most int) *plot.Plot {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Assisted decoding: a drafted token costs %.3g steps", a.Cost)
	if len(a.Sources) > 0 {
		p.Title.Text += "\n" + strings.Join(a.Sources, "; ")
	}
	p.X.Label.Text = "draft length, tokens"
	p.Y.Label.Text = "speed-up over plain decoding"
	p.Title.TextStyle.Font = sized(14)
	p.Title.Padding = 10
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = sized(11), sized(10)
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = plotInk, plotInk
		axis.LineStyle.Width, axis.Tick.LineStyle.Width, axis.Label.Padding = 0, 0, 6
	}
	p.Legend.TextStyle.Font, p.Legend.Left = sized(10), true
	p.Legend.Padding, p.Legend.XOffs, p.Legend.YOffs = 2, 8, 6
	p.X.Min, p.X.Max, p.Y.Min = 0, float64(most)*1.15, 0
	p.X.Tick.Marker = plot.TickerFunc(func(_, _ float64) (ticks []plot.Tick) {
		for n := 0; n <= most; n += 1 + most/17 {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
		}
		return ticks
	})
	p.Y.Tick.Marker = plot.TickerFunc(func(_, top float64) (ticks []plot.Tick) {
		step := 1 + math.Floor(top/9) // at most ten ticks, whatever a file says
		for n := 0.0; n <= top && len(ticks) < 10; n += step {
			ticks = append(ticks, plot.Tick{Value: n, Label: strconv.FormatFloat(n, 'f', 0, 64) + "x"})
		}
		return ticks
	})
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = plotFaint
	plain := plotter.NewFunction(func(float64) float64 { return 1 })
	plain.LineStyle = draw.LineStyle{Color: plotMuted, Width: 0.8}
	plain.XMin, plain.XMax = 0, float64(most)
	p.Add(grid, plain)
	return p
}

func sized(points float64) font.Font {
	f := sans
	f.Size = vg.Points(points)
	return f
}

// addPlan draws one α.
func addPlan(p *plot.Plot, a Assumptions, alpha float64, most int, asked bool) error {
	a.Alpha = alpha
	plan, name := a.plan(true), strconv.FormatFloat(alpha, 'g', 3, 64)
	style := draw.LineStyle{Color: plotMuted, Width: 1}
	if asked {
		style = draw.LineStyle{Color: plotAccent, Width: 2.4}
		name = "alpha " + name
	}
	curve, err := addCurve(p, plan.Speedup, most, style)
	if err != nil {
		return err
	}
	if asked && len(a.Verify) > 0 {
		dashed := style
		dashed.Width, dashed.Dashes = 1.4, []vg.Length{4, 3}
		theory, err := addCurve(p, a.plan(false).Speedup, most, dashed)
		if err != nil {
			return err
		}
		p.Legend.Add("if a pass cost one step, whatever its rows", theory)
		p.Legend.Add("with passes as measured", curve)
	}
	if n, speedup := plan.Best(most); n > 0 {
		if err := addDot(p, plotter.XY{X: float64(n), Y: speedup}, style.Color); err != nil {
			return err
		}
	}
	return addLabel(p, name, curve.XYs[most], style.Color)
}

func addCurve(p *plot.Plot, f func(n int) float64, most int, style draw.LineStyle) (*plotter.Line, error) {
	xys := make(plotter.XYs, most+1)
	for n := range xys {
		xys[n] = plotter.XY{X: float64(n), Y: f(n)}
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return nil, err
	}
	line.LineStyle = style
	p.Add(line)
	return line, nil
}

func addDot(p *plot.Plot, at plotter.XY, c color.Color) error {
	dot, err := plotter.NewScatter(plotter.XYs{at})
	if err != nil {
		return err
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 3.4, Shape: draw.CircleGlyph{}}
	p.Add(dot)
	return nil
}

// addLabel writes a curve's name at its end.
func addLabel(p *plot.Plot, name string, at plotter.XY, c color.Color) error {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{at}, Labels: []string{name}})
	if err != nil {
		return err
	}
	l.TextStyle[0].Font, l.TextStyle[0].Color, l.TextStyle[0].YAlign = sized(10), c, text.YCenter
	l.Offset = vg.Point{X: 6}
	p.Add(l)
	return nil
}
