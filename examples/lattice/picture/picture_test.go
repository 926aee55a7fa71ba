package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func encode(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadTakesDarkPixels(t *testing.T) {
	img := image.NewNRGBA(image.Rect(3, 5, 9, 6)) // bounds that do not begin at 0
	for i, c := range []color.NRGBA{
		{0, 0, 0, 255}, {255, 255, 255, 255}, {127, 127, 127, 255}, {129, 129, 129, 255}, {0, 0, 0, 0}, {0, 0, 255, 255},
	} {
		img.SetNRGBA(3+i, 5, c)
	}
	f, err := Read(bytes.NewReader(encode(t, img)))
	if err != nil {
		t.Fatal(err)
	}
	want := []bool{true, false, true, false, false, true}
	if f.Width != 6 || f.Height != 1 || !slices.Equal(f.Solid, want) {
		t.Errorf("%d x %d %v, want 6 x 1 %v", f.Width, f.Height, f.Solid, want)
	}
}

// withSize changes the size in a PNG's header.
func withSize(data []byte, width, height uint32) []byte {
	data = slices.Clone(data)
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestReadRefuses(t *testing.T) {
	good := encode(t, image.NewGray(image.Rect(0, 0, 8, 8)))
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "ends too early"},
		{"cut", good[:len(good)/2], "ends too early"},
		{"text", []byte("this is no picture at all"), "not a usable PNG: the file is of another kind"},
		{"short text", []byte("hi\n"), "not a usable PNG: the file is of another kind"},
		{"beginning", []byte(pngBegin[:3]), "ends too early"},
		{"damaged", append(slices.Clone(good[:41]), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), "not a usable PNG"},
		{"huge", withSize(good, 100000, 100000), "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestWriteFrame(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFrame(dir, 100, 3, []byte{0, 127, 254, 255, 1, 2}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "frame-000100.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := img.(*image.Paletted)
	if !ok || p.Bounds() != image.Rect(0, 0, 3, 2) || p.ColorIndexAt(0, 1) != 255 {
		t.Errorf("frame is %T %v", img, img.Bounds())
	}
	if err := WriteFrame(filepath.Join(dir, "none"), 1, 1, []byte{0}); err == nil {
		t.Error("a missing folder gave no error")
	}
}

func TestPalette(t *testing.T) {
	p := Palette()
	if len(p) != 256 {
		t.Fatalf("%d colours", len(p))
	}
	s := stops()
	if p[0] != color.Color(s[0]) || p[254] != color.Color(s[len(s)-1]) {
		t.Errorf("ends %v and %v, want %v and %v", p[0], p[254], s[0], s[len(s)-1])
	}
}

func FuzzRead(f *testing.F) {
	good := encode(f, image.NewGray(image.Rect(0, 0, 8, 8)))
	f.Add(good)
	f.Add(good[:20])
	f.Add(withSize(good, 70000, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		// A header may honestly ask for a gigabyte; the fuzzer's machine need not have it.
		if c, err := png.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<20 {
			return
		}
		field, err := Read(bytes.NewReader(data))
		if err == nil && len(field.Solid) != field.Width*field.Height {
			t.Errorf("%d cells in %d x %d", len(field.Solid), field.Width, field.Height)
		}
	})
}
