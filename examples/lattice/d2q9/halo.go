package d2q9

// Three populations of a cell cross to the next row: the straight one and its two diagonals. They travel in one 64-bit word a cell,
// 21 bits each, so a row of 1,024 cells is 8 KiB:
//
//	 63 62      42 41      21 20       0
//	+--+----------+----------+----------+
//	| 0| westward | straight | eastward |
//	+--+----------+----------+----------+
func pack(eastward, straight, westward int32) uint64 {
	return uint64(uint32(eastward+packHalf)&packMask) |
		uint64(uint32(straight+packHalf)&packMask)<<packBits |
		uint64(uint32(westward+packHalf)&packMask)<<(2*packBits)
}

func unpack(v uint64) (eastward, straight, westward int32) {
	return int32(v&packMask) - packHalf, int32(v>>packBits&packMask) - packHalf, int32(v>>(2*packBits)&packMask) - packHalf
}

// HaloWords is the length of the buffers of the four functions below.
func (s *Strip) HaloWords() int { return s.width }

// PackUp writes what leaves the first row upwards; PackDown what leaves the last row downwards. Both need HaloWords words.
func (s *Strip) PackUp(to []uint64) { s.packRow(to, 0, northEast, north, northWest) }

// PackDown is PackUp for the last row.
func (s *Strip) PackDown(to []uint64) { s.packRow(to, s.rows-1, southEast, south, southWest) }

func (s *Strip) packRow(to []uint64, y, eastward, straight, westward int) {
	at := s.at(0, y)
	e, n, w := s.now[eastward][at:][:s.width], s.now[straight][at:][:s.width], s.now[westward][at:][:s.width]
	to = to[:s.width]
	for x := range to {
		to[x] = pack(e[x], n[x], w[x])
	}
}

// UnpackUp takes what the upper neighbour's PackDown wrote, UnpackDown what the lower neighbour's PackUp wrote.
func (s *Strip) UnpackUp(from []uint64) { s.unpackRow(from, -1, southEast, south, southWest) }

// UnpackDown is UnpackUp for the lower neighbour.
func (s *Strip) UnpackDown(from []uint64) { s.unpackRow(from, s.rows, northEast, north, northWest) }

func (s *Strip) unpackRow(from []uint64, y, eastward, straight, westward int) {
	at := s.at(0, y)
	e, n, w := s.now[eastward][at:][:s.width], s.now[straight][at:][:s.width], s.now[westward][at:][:s.width]
	from = from[:s.width]
	for x := range from {
		e[x], n[x], w[x] = unpack(from[x])
	}
	s.wrapHalo(y, eastward, westward)
}

// wrapHalo makes the diagonals of a halo row periodic; the straight population is never read there.
func (s *Strip) wrapHalo(y, eastward, westward int) {
	left := (y + 1) * s.stride
	e, w := s.now[eastward], s.now[westward]
	e[left] = e[left+s.width]
	w[left+s.width+1] = w[left+1]
}

// WallUp stands for the upper neighbour at the edge of the field: half a cell above the first row everything is sent back.
func (s *Strip) WallUp() {
	s.wall(0, -1, [3]int{northEast, north, northWest}, [3]int{southWest, south, southEast})
}

// WallDown is WallUp below the last row.
func (s *Strip) WallDown() {
	s.wall(s.rows-1, s.rows, [3]int{southEast, south, southWest}, [3]int{northWest, north, northEast})
}

// wall fills halo row y with what row from sends there, turned round: from cell x eastward it went to x+1 and comes back westward,
// to land in x again.
func (s *Strip) wall(from, y int, out, back [3]int) {
	src, dst := s.at(0, from), s.at(0, y)
	for k, dx := range [3]int{1, 0, -1} {
		o, b := s.now[out[k]][src:][:s.width], s.now[back[k]]
		for x, v := range o {
			b[dst+x+dx] = v
		}
	}
	// No wrap: the shifted copies have filled the halo columns that are read, and the columns they left empty are not.
}
