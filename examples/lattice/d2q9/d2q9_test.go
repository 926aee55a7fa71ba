package d2q9

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// disc is a field with an obstacle in its middle.
func disc(width, height, radius int) []bool {
	solid := make([]bool, width*height)
	for y := range height {
		for x := range width {
			// doubled coordinates: the middle of an even number of cells lies between two
			dx, dy := 2*x-width+1, 2*y-height+1
			solid[y*width+x] = dx*dx+dy*dy <= 4*radius*radius
		}
	}
	return solid
}

// cut makes strips of a field, whose first rows are the sums of heights.
func cut(t testing.TB, width int, solid []bool, heights []int) []*Strip {
	t.Helper()
	var strips []*Strip
	first := 0
	for _, h := range heights {
		s, err := NewStrip(width, first, solid[first*width:(first+h)*width])
		if err != nil {
			t.Fatal(err)
		}
		strips = append(strips, s)
		first += h
	}
	return strips
}

// advance runs one time step of a whole field, exchanging halos in memory.
func advance(strips []*Strip) {
	up, down := make([][]uint64, len(strips)), make([][]uint64, len(strips))
	for i, s := range strips {
		up[i], down[i] = make([]uint64, s.HaloWords()), make([]uint64, s.HaloWords())
		s.PackUp(up[i])
		s.PackDown(down[i])
	}
	for i, s := range strips {
		s.StepInner()
		if i == 0 {
			s.WallUp()
		} else {
			s.UnpackUp(down[i-1])
		}
		if i == len(strips)-1 {
			s.WallDown()
		} else {
			s.UnpackDown(up[i+1])
		}
		s.StepEdges()
	}
}

func total(strips []*Strip) (mass int64, checksum uint64, stable bool) {
	stable = true
	for _, s := range strips {
		mass += s.Mass()
		checksum += s.Checksum()
		stable = stable && s.Stable()
	}
	return mass, checksum, stable
}

func TestMassIsConserved(t *testing.T) {
	strips := cut(t, 61, disc(61, 33, 7), []int{33})
	before, _, _ := total(strips)
	for range 200 {
		advance(strips)
	}
	after, _, stable := total(strips)
	if after != before || !stable {
		t.Errorf("mass went from %d to %d, stable %v", before, after, stable)
	}
}

func TestSplitsGiveTheSameBits(t *testing.T) {
	const width, height, steps = 37, 23, 80
	solid := disc(width, height, 5)
	var want uint64
	for n := 1; n <= 7; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var heights []int
			for i := range n {
				heights = append(heights, height*(i+1)/n-height*i/n)
			}
			strips := cut(t, width, solid, heights)
			for range steps {
				advance(strips)
			}
			_, got, _ := total(strips)
			if n == 1 {
				want = got
			}
			if got != want {
				t.Errorf("%d strips: %016x, one strip %016x", n, got, want)
			}
		})
	}
}

// Any obstacles, any cut, strips of a single row included.
func TestAnySplitOfAnyField(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(1, 12).Draw(r, "width")
		heights := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(r, "heights")
		height := 0
		for _, h := range heights {
			height += h
		}
		solid := rapid.SliceOfN(rapid.Bool(), width*height, width*height).Draw(r, "solid")
		whole, parts := cut(t, width, solid, []int{height}), cut(t, width, solid, heights)
		massBefore, _, _ := total(whole)
		for range 30 {
			advance(whole)
			advance(parts)
		}
		mass, want, _ := total(whole)
		_, got, _ := total(parts)
		if got != want {
			r.Fatalf("split: %016x, whole: %016x", got, want)
		}
		if mass != massBefore {
			r.Fatalf("mass went from %d to %d", massBefore, mass)
		}
	})
}

func TestMirroredObstacleGivesMirroredFlow(t *testing.T) {
	const width, height = 48, 31
	rng := rand.New(rand.NewPCG(1, 2))
	solid := make([]bool, width*height)
	for i := range solid {
		solid[i] = rng.IntN(10) == 0
	}
	mirrored := make([]bool, 0, len(solid))
	for y := height - 1; y >= 0; y-- {
		mirrored = append(mirrored, solid[y*width:(y+1)*width]...)
	}
	a, b := cut(t, width, solid, []int{height}), cut(t, width, mirrored, []int{height})
	for range 120 {
		advance(a)
		advance(b)
	}
	opposite := [directions]int{rest, east, southEast, south, southWest, west, northWest, north, northEast}
	for y := range height {
		for x := range width {
			for i := range opposite {
				v, m := a[0].now[i][a[0].at(x, y)], b[0].now[opposite[i]][b[0].at(x, height-1-y)]
				if v != m {
					t.Fatalf("cell %d,%d population %d: %d, mirrored field has %d", x, y, i, v, m)
				}
			}
		}
	}
}

func TestObstacleTurnsEverythingBack(t *testing.T) {
	const width, height = 5, 5
	solid := make([]bool, width*height)
	solid[2*width+2] = true
	s := cut(t, width, solid, []int{height})[0]
	arriving := make([]int32, directions)
	from := [directions][2]int{{2, 2}, {1, 2}, {1, 3}, {2, 3}, {3, 3}, {3, 2}, {3, 1}, {2, 1}, {1, 1}}
	for i, c := range from {
		s.now[i][s.at(c[0], c[1])] += int32(1000 * i)
		arriving[i] = s.now[i][s.at(c[0], c[1])]
	}
	s.WallUp()
	s.WallDown()
	s.StepInner()
	s.StepEdges()
	back := [directions]int{rest, west, southWest, south, southEast, east, northEast, north, northWest}
	for i := range back {
		if got := s.now[back[i]][s.at(2, 2)]; got != arriving[i] {
			t.Errorf("population %d arrived as %d and left as %d", i, arriving[i], got)
		}
	}
}

// No picture blows the flow up: a closed duct, a pinhole, a thicket.
func TestNastyPicturesStayStable(t *testing.T) {
	const width, height, steps = 32, 16, 1500
	pictures := map[string]func(x, y int) bool{
		"empty":   func(x, y int) bool { return false },
		"closed":  func(x, y int) bool { return x == 14 },
		"pinhole": func(x, y int) bool { return x == 14 && y != 7 },
		"thicket": func(x, y int) bool { return mix(uint64(y*width+x))%3 == 0 },
		"full":    func(x, y int) bool { return true },
		"fan":     func(x, y int) bool { return x == 0 && y%2 == 0 },
	}
	for name, dark := range pictures {
		t.Run(name, func(t *testing.T) {
			solid := make([]bool, width*height)
			for i := range solid {
				solid[i] = dark(i%width, i/width)
			}
			strips := cut(t, width, solid, []int{height})
			for range steps {
				advance(strips)
			}
			if _, _, stable := total(strips); !stable {
				t.Error("populations left the range of a halo word")
			}
			levels := make([]byte, width*height)
			strips[0].Levels(levels)
			fast := 0
			for _, l := range levels {
				if l == Obstacle-1 {
					fast++
				}
			}
			if fast > width*height/20 {
				t.Errorf("%d of %d cells move at twice the wind or more", fast, width*height)
			}
		})
	}
}

func TestHaloWordRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		population := rapid.Int32Range(-packHalf, packHalf-1)
		a, b, c := population.Draw(r, "a"), population.Draw(r, "b"), population.Draw(r, "c")
		if x, y, z := unpack(pack(a, b, c)); x != a || y != b || z != c {
			r.Fatalf("%d %d %d became %d %d %d", a, b, c, x, y, z)
		}
	})
}

func TestLevels(t *testing.T) {
	solid := []bool{false, true, false, false}
	s := cut(t, 4, solid, []int{1})[0]
	levels := make([]byte, 4)
	s.Levels(levels)
	want := []byte{127, Obstacle, 127, 127}
	if !slices.Equal(levels, want) {
		t.Errorf("levels %v, want %v", levels, want)
	}
}

func TestNewStripRefuses(t *testing.T) {
	for _, c := range []struct{ width, first, cells int }{{0, 0, 4}, {-3, 0, 3}, {4, 0, 0}, {4, 0, 6}, {4, -1, 4}} {
		if _, err := NewStrip(c.width, c.first, make([]bool, c.cells)); err == nil {
			t.Errorf("width %d, first row %d, %d cells: no error", c.width, c.first, c.cells)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	const width, height = 1024, 256
	strips := cut(b, width, disc(width, height, 24), []int{height})
	b.ResetTimer()
	for range b.N {
		advance(strips)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/width/height, "ns/cell")
}
