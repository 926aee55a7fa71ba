package d2q9

import "math"

// Obstacle is the level that Levels gives to obstacles.
const Obstacle = 255

// Levels writes the speed of every cell as 0 to 254, 254 at twice Speed and above, row by row into to, which needs Width*Rows
// bytes.
func (s *Strip) Levels(to []byte) {
	const top = Obstacle - 1
	for y := range s.rows {
		for x := range s.width {
			level := byte(Obstacle)
			if !s.solid[y*s.width+x] {
				jx, jy := s.momentum(x, y)
				v := math.Hypot(float64(jx), float64(jy)) / (2 * Speed * One)
				level = byte(min(top, int(v*(top+1))))
			}
			to[y*s.width+x] = level
		}
	}
}

func (s *Strip) momentum(x, y int) (jx, jy int64) {
	at := s.at(x, y)
	f := func(i int) int64 { return int64(s.now[i][at]) }
	jx = f(east) - f(west) + f(northEast) - f(southWest) + f(southEast) - f(northWest)
	jy = f(north) - f(south) + f(northEast) - f(southWest) - f(southEast) + f(northWest)
	return jx, jy
}
