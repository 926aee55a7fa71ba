package main

import (
	"bytes"
	"image/png"
	"os"
	"testing"
)

// The committed picture is what this program draws.
func TestCommittedPicture(t *testing.T) {
	data, err := os.ReadFile("../channel.png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := channel()
	if img.Bounds() != want.Bounds() {
		t.Fatalf("picture is %v, drawn %v", img.Bounds(), want.Bounds())
	}
	for y := range height {
		for x := range width {
			r, _, _, _ := img.At(x, y).RGBA()
			if (r == 0) != (want.ColorIndexAt(x, y) == 1) {
				t.Fatalf("pixel %d,%d differs: run go run ./examples/lattice/draw examples/lattice/channel.png", x, y)
			}
		}
	}
}
