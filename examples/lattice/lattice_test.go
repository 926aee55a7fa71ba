package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ompi-go/ompi-go/ompi"
)

// job runs the program on ranks of this process and gives what it printed and what every rank returned.
func job(t *testing.T, ranks int, args ...string) (string, []error) {
	t.Helper()
	var out bytes.Buffer // only rank 0 writes
	errs := make([]error, ranks)
	var mu sync.Mutex
	err := ompi.Run(context.Background(), ranks, func(world *ompi.Comm) error {
		err := run(world, args, &out)
		mu.Lock()
		defer mu.Unlock()
		errs[world.Rank()] = err
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), errs
}

// small writes a picture of 40 x 7 cells with an obstacle.
func small(t *testing.T) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 40, 7))
	for y := range 7 {
		for x := range 40 {
			img.SetGray(x, y, color.Gray{255})
			if (x-12)*(x-12)+(y-3)*(y-3) < 5 {
				img.SetGray(x, y, color.Gray{0})
			}
		}
	}
	path := filepath.Join(t.TempDir(), "small.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func TestAnyNumberOfRanksGivesTheSameChecksum(t *testing.T) {
	in := small(t)
	var want string
	for _, exchange := range []string{isTwoSided, isOneSided} {
		for _, ranks := range []int{1, 2, 3, 7} {
			out, errs := job(t, ranks, "--in", in, "--steps", "40", "--exchange", exchange)
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s, %d ranks: %v", exchange, ranks, err)
			}
			got := lastLine(out)
			if want == "" {
				want = got
			}
			if len(got) != len("checksum ")+16 || !strings.HasPrefix(got, "checksum ") || got != want {
				t.Errorf("%s, %d ranks: %q, want %q", exchange, ranks, got, want)
			}
		}
	}
}

func TestFramesAndSpeedup(t *testing.T) {
	in, dir := small(t), filepath.Join(t.TempDir(), "new", "frames")
	out, errs := job(t, 3, "--in", in, "--steps", "25", "--out", dir, "--every", "10", "--speedup")
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"two-sided: speedup ", "one-sided: speedup "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, step := range []int{10, 20, 25} {
		f, err := os.Open(filepath.Join(dir, fmt.Sprintf("frame-%06d.png", step)))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil || img.Bounds() != image.Rect(0, 0, 40, 7) {
			t.Errorf("frame %d: %v %v", step, img, err)
		}
	}
	plain, errs := job(t, 2, "--in", in, "--steps", "25")
	if errors.Join(errs...) != nil || lastLine(plain) != lastLine(out) {
		t.Errorf("frames changed the checksum from %q to %q", lastLine(plain), lastLine(out))
	}
}

func TestErrorsAreAgreed(t *testing.T) {
	in := small(t)
	notPNG := filepath.Join(t.TempDir(), "text.png")
	if err := os.WriteFile(notPNG, []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		ranks      int
		args       []string
	}{
		{"missing", "no such file", 3, []string{"--in", filepath.Join(t.TempDir(), "none.png")}},
		{"not a picture", "not a usable PNG", 2, []string{"--in", notPNG}},
		{"too many ranks", "8 ranks for 7 rows", 8, []string{"--in", in}},
		{"no steps", "at least one step", 2, []string{"--steps", "0"}},
		{"folder is a file", "--out", 2, []string{"--in", in, "--out", notPNG}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs := job(t, c.ranks, c.args...)
			for rank, err := range errs {
				var agreed *agreedError
				if !errors.As(err, &agreed) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("rank %d: %v, want %q on all", rank, err, c.want)
				}
			}
			if strings.Contains(out, "checksum") {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}
