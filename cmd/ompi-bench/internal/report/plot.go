package report

import (
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// CheckPlotPath refuses what cannot be drawn before anything is measured.
func CheckPlotPath(path string) error {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".svg" && ext != ".png" {
		return fmt.Errorf("--plot %s: want a name that ends in .svg or .png", path)
	}
	return nil
}

// colours tell the series apart, also for most of those who see red and green alike.
func colours() []color.RGBA {
	return []color.RGBA{
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255},
		{0, 0, 0, 255}, {153, 153, 153, 255}, {170, 160, 20, 255},
	}
}

// Plot draws a result: a line for each series over sizes on a log2 axis, dots where several layouts have a size, or bars when there
// are no sizes. Of a test of overlap it draws both together. The format follows from the name's ending, .svg or .png.
func Plot(path string, t suite.Test, r Result) error {
	if t.Overlap {
		r.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(r Row) bool { return r.Case != "" && r.Case != suite.Overall })
	}
	if t.Course { // rows may be named
		r.Rows = slices.Clone(r.Rows)
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Series == "" {
				row.Series = row.Case
			}
		}
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s, %d ranks", t.Name, r.Ranks)
	p.Title.Padding = vg.Points(6)
	p.Y.Label.Text = t.Title
	p.BackgroundColor = color.White
	names := series(r.Rows)
	var err error
	if points := sized(r.Rows); points > 0 {
		err = lines(p, t, r, names)
	} else {
		err = bars(p, r, names)
	}
	if err == nil {
		err = p.Save(8*vg.Inch, 5*vg.Inch, path)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}

// series lists the names in order of appearance.
func series(rows []Row) []string {
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.Series) {
			names = append(names, r.Series)
		}
	}
	return names
}

// sized counts the rows that fit on a logarithmic axis and differ in size.
func sized(rows []Row) int {
	var sizes []int64
	for _, r := range rows {
		if r.Size > 0 && r.Value > 0 && !slices.Contains(sizes, r.Size) {
			sizes = append(sizes, r.Size)
		}
	}
	if len(sizes) < 2 {
		return 0
	}
	return len(sizes)
}

func lines(p *plot.Plot, t suite.Test, r Result, names []string) error {
	p.X.Label.Text = t.Size
	if t.Size == "Size" || t.Layouts {
		p.X.Label.Text = "Size (bytes)"
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powersOfTwo{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, oneTwoFive{}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	for i, name := range names {
		var xy plotter.XYs
		for _, row := range r.Rows {
			// A logarithm has no place for zero.
			if row.Series == name && row.Size > 0 && row.Value > 0 {
				xy = append(xy, plotter.XY{X: float64(row.Size), Y: row.Value})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		c := colours()[i%len(colours())]
		line.Color, line.Width = c, vg.Points(1.6)
		dots.Color, dots.Shape, dots.Radius = c, draw.CircleGlyph{}, vg.Points(2.2)
		drawn := []plot.Plotter{dots}
		legend := []plot.Thumbnailer{dots}
		if !t.Layouts {
			drawn, legend = append(drawn, line), append(legend, line)
		}
		p.Add(drawn...)
		if name != "" {
			p.Legend.Add(name, legend...)
		}
	}
	p.Y.Min, p.Y.Max = widen(p.Y.Min, p.Y.Max)
	return nil
}

func bars(p *plot.Plot, r Result, names []string) error {
	p.Y.Min = 0
	for i, name := range names {
		var values plotter.Values
		for _, row := range r.Rows {
			if row.Series == name {
				values = append(values, row.Value)
				break
			}
		}
		b, err := plotter.NewBarChart(values, vg.Points(40))
		if err != nil {
			return err
		}
		b.XMin = float64(i)
		b.Color, b.LineStyle.Width = colours()[i%len(colours())], 0
		p.Add(b)
	}
	p.X.Min, p.X.Max = -0.75, float64(len(names))-0.25
	p.NominalX(names...)
	return nil
}
