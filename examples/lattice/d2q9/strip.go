package d2q9

import "fmt"

// Strip is a band of whole rows of a field, with one halo row above and below. It is not safe for concurrent use.
type Strip struct {
	width, rows int
	first       int // row of the field that row 0 of the strip is
	stride      int // width and a halo column on either side

	// Halo column and row count: cell (x, y) is at (y+1)*stride + x+1. Invariant between steps: the halo columns of the strip's
	// own rows in now hold the cells from the other end of the row.
	solid []bool // without halo: y*width + x
	now   [directions][]int32
	next  [directions][]int32

	// spread gathers the bits of every vertical population ever computed, shifted so that bits above packMask mean a population
	// that does not fit a halo word.
	spread uint32
}

// MaxCells bounds a field, so that a picture's header cannot ask for more memory than a machine has.
const MaxCells = 1 << 27

// NewStrip makes rows first up to first+len(solid)/width of a field of that width. The fluid starts moving at Speed, obstacles hold
// resting fluid. solid is kept and must not change.
func NewStrip(width, first int, solid []bool) (*Strip, error) {
	switch {
	case width < 1 || len(solid) == 0 || len(solid)%width != 0:
		return nil, fmt.Errorf("d2q9: %d cells are no rows of %d", len(solid), width)
	case len(solid) > MaxCells:
		return nil, fmt.Errorf("d2q9: %d cells, at most %d are possible", len(solid), MaxCells)
	case first < 0:
		return nil, fmt.Errorf("d2q9: a strip cannot begin at row %d", first)
	}
	s := &Strip{width: width, rows: len(solid) / width, first: first, stride: width + 2, solid: solid}
	for i := range s.now {
		s.now[i] = make([]int32, (s.rows+2)*s.stride)
		s.next[i] = make([]int32, (s.rows+2)*s.stride)
	}
	still, moving := equilibrium(0), equilibrium(wind)
	for y := range s.rows {
		for x := range width {
			f := &moving
			if solid[y*width+x] {
				f = &still
			}
			for i := range f {
				s.now[i][s.at(x, y)] = f[i]
			}
		}
		s.wrap(&s.now, y)
	}
	return s, nil
}

// Width and Rows are the size of the strip in cells, First its first row in the field.
func (s *Strip) Width() int { return s.width }
func (s *Strip) Rows() int  { return s.rows }
func (s *Strip) First() int { return s.first }

func (s *Strip) at(x, y int) int { return (y+1)*s.stride + x + 1 }

// wrap makes row y periodic: its halo columns are copies of the other end.
func (s *Strip) wrap(f *[directions][]int32, y int) {
	left := (y + 1) * s.stride
	for i := range f {
		f[i][left] = f[i][left+s.width]
		f[i][left+s.width+1] = f[i][left+1]
	}
}

// equilibrium is a cell of density One that moves east with momentum j.
func equilibrium(j int64) (f [directions]int32) {
	q := j * j >> 21
	pair := func(even, odd int64, i, opposite int) {
		f[i] = int32((even + odd) / 2)
		f[opposite] = int32((even - odd) / 2)
	}
	pair(2*(One+3*q)/9, 2*j/3, east, west)
	pair((2*One-3*q)/9, 0, north, south)
	pair((One+3*q)/18, j/6, northEast, southWest)
	pair((One+3*q)/18, j/6, southEast, northWest)
	f[rest] = One
	for _, v := range f[1:] {
		f[rest] -= v
	}
	return f
}

// Mass is the sum of all populations of the strip's own cells; over a whole field it never changes.
func (s *Strip) Mass() int64 {
	var sum int64
	for i := range s.now {
		for y := range s.rows {
			for _, v := range s.now[i][s.at(0, y):s.at(s.width, y)] {
				sum += int64(v)
			}
		}
	}
	return sum
}

// Checksum is the strip's part of the field's checksum: the parts of a field's strips, added modulo 2^64, are the same for every
// split.
func (s *Strip) Checksum() uint64 {
	var sum uint64
	for y := range s.rows {
		for x := range s.width {
			// the cell's place first, so that equal cells in other places differ
			h := mix(uint64(s.first+y)*uint64(s.width) + uint64(x))
			at := s.at(x, y)
			for i := range s.now {
				h = mix(h ^ uint64(uint32(s.now[i][at])))
			}
			sum += h
		}
	}
	return sum
}

// mix is a bijection of 64-bit words in which every input bit reaches every output bit.
func mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>32) * 0xd6e8feb86659fd93
	v = (v ^ v>>32) * 0xd6e8feb86659fd93
	return v ^ v>>32
}

// Stable says whether every population so far fitted a halo word. Once one did not, the flow has blown up and splits differ.
func (s *Strip) Stable() bool { return s.spread&^packMask == 0 }
