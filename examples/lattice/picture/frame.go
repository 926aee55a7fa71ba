package picture

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"

	"github.com/ompi-go/ompi-go/examples/lattice/d2q9"
)

// stops are the colours of the speed scale: still fluid is dark blue, the wind turquoise, twice the wind pale yellow.
func stops() []color.RGBA {
	return []color.RGBA{
		{8, 10, 48, 255}, {28, 48, 130, 255}, {22, 110, 168, 255}, {40, 168, 160, 255},
		{120, 205, 110, 255}, {226, 206, 62, 255}, {248, 136, 44, 255}, {255, 248, 214, 255},
	}
}

// Palette gives every level of d2q9.Levels its colour.
func Palette() color.Palette {
	s := stops()
	p := make(color.Palette, 0, 256)
	const top = d2q9.Obstacle - 1
	for level := range d2q9.Obstacle {
		// position between two stops, in parts of top
		at := level * (len(s) - 1)
		i, part := min(at/top, len(s)-2), 0
		part = at - i*top
		between := func(a, b uint8) uint8 { return uint8((int(a)*(top-part) + int(b)*part) / top) }
		a, b := s[i], s[i+1]
		p = append(p, color.RGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 255})
	}
	return append(p, color.RGBA{96, 92, 96, 255})
}

// FrameName is the file name of the frame after a number of steps.
func FrameName(step int) string { return fmt.Sprintf("frame-%06d.png", step) }

// WriteFrame writes levels as FrameName(step) in dir.
func WriteFrame(dir string, step, width int, levels []byte) error {
	img := &image.Paletted{Pix: levels, Stride: width, Rect: image.Rect(0, 0, width, len(levels)/width), Palette: Palette()}
	f, err := os.Create(filepath.Join(dir, FrameName(step)))
	if err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
		return fmt.Errorf("write frame %s: %w", f.Name(), err)
	}
	return nil
}
