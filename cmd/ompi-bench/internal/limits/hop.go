package limits

import (
	"sync/atomic"
	"time"
)

// hop is the microseconds that a cache line written on one core takes to be seen on another.
func (c *child) hop() (float64, error) {
	const rounds = 20000
	ball := c.shared.word(ballAt)
	deadline := time.Now().Add(patience)
	start := time.Now()
	for range rounds {
		atomic.StoreUint64(ball, c.next)
		if _, err := await(ball, c.next+1, deadline); err != nil {
			return 0, err
		}
		c.next += 2
	}
	return time.Since(start).Seconds() * 1e6 / (2 * rounds), nil
}

// stopHops ends the game; the child then serves the socket.
func (c *child) stopHops() { atomic.StoreUint64(c.shared.word(ballAt), stop) }
