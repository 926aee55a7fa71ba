// Draw draws the lattice example's default picture: bodies in a channel of 1,024 x 256 cells, black on white.
//
//	go run ./examples/lattice/draw examples/lattice/channel.png
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
)

const width, height = 1024, 256

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: draw FILE.png")
		os.Exit(2)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, channel()); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
	if err := os.WriteFile(os.Args[1], b.Bytes(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

// channel computes in integers only, so that every machine draws the same picture.
func channel() *image.Paletted {
	bodies := []func(x, y int) bool{
		disc(150, 122, 24),
		wing(330, 84, 120, 14, 5),
		disc(520, 60, 12),
		disc(520, 190, 16),
		disc(585, 128, 9),
		plate(700, 150, 15, 34, 4),
		disc(850, 70, 20),
		disc(880, 186, 14),
	}
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})
	for y := range height {
		for x := range width {
			for _, inside := range bodies {
				if inside(x, y) {
					img.SetColorIndex(x, y, 1)
				}
			}
		}
	}
	return img
}

func disc(cx, cy, r int) func(x, y int) bool {
	return func(x, y int) bool { return (x-cx)*(x-cx)+(y-cy)*(y-cy) <= r*r }
}

// wing has a round nose at (nx, ny) and tapers over its length, sinking one cell in `slope`.
func wing(nx, ny, length, thickness, slope int) func(x, y int) bool {
	return func(x, y int) bool {
		along, across := x-nx, y-ny-(x-nx)/slope
		if along < 0 {
			return along*along+across*across <= thickness*thickness
		}
		return along <= length && across*length <= thickness*(length-along) && -across*length <= thickness*(length-along)
	}
}

// plate stands slanted: half its height above and below (cx, cy), leaning dx to the side.
func plate(cx, cy, dx, half, thick int) func(x, y int) bool {
	return func(x, y int) bool {
		d := y - cy
		off := (x-cx)*half - d*dx
		return d >= -half && d <= half && off <= thick*half && -off <= thick*half
	}
}
