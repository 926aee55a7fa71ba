// Package picture is the lattice example's way in and out: obstacles from the dark pixels of a PNG, frames of the flow as PNGs.
package picture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"github.com/ompi-go/ompi-go/examples/lattice/d2q9"
)

// maxFile bounds the bytes of a PNG; a picture of the largest field is far below it unless it is noise.
const maxFile = 1 << 30

// Field is a rectangle of cells; Solid[y*Width+x] says where the obstacles are.
type Field struct {
	Width, Height int
	Solid         []bool
}

// Read takes the obstacles from a PNG: pixels darker than half grey, transparency seen on white. Errors say what is wrong with the
// file; a picture of more than d2q9.MaxCells pixels is refused before it is decoded.
func Read(r io.Reader) (*Field, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("picture is larger than %d bytes", maxFile)
	}
	if n := min(len(data), len(pngBegin)); n > 0 && string(data[:n]) != pngBegin[:n] {
		return nil, errors.New("picture is not a usable PNG: the file is of another kind")
	}
	size, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, notPNG(err)
	}
	if int64(size.Width)*int64(size.Height) > d2q9.MaxCells {
		return nil, fmt.Errorf("picture of %d x %d pixels is too large, at most %d pixels are possible", size.Width, size.Height, d2q9.MaxCells)
	}
	img, err := png.Decode(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, notPNG(err)
	}
	return obstacles(img), nil
}

// pngBegin is how every PNG begins.
const pngBegin = "\x89PNG\r\n\x1a\n"

func notPNG(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("picture ends too early: not a whole PNG file")
	}
	return fmt.Errorf("picture is not a usable PNG: %w", err)
}

func obstacles(img image.Image) *Field {
	b := img.Bounds()
	f := &Field{Width: b.Dx(), Height: b.Dy(), Solid: make([]bool, 0, b.Dx()*b.Dy())}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			f.Solid = append(f.Solid, dark(img.At(x, y)))
		}
	}
	return f
}

func dark(c color.Color) bool {
	r, g, b, a := c.RGBA() // premultiplied: on white, what alpha leaves over is white
	luminance := (299*r + 587*g + 114*b) / 1000
	return luminance+(0xffff-a) < 0x8000
}
