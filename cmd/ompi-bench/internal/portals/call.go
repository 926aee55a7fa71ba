package portals

import (
	"time"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/report"
	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// counted is the plainest put to oneself: copy the bytes, count that they have come.
type counted struct{ arrived uint64 }

//go:noinline
func (c *counted) put(to, from []byte) {
	copy(to, from)
	c.arrived++
}

// callAndCopy is what such a call takes, in microseconds.
func callAndCopy(size int) float64 {
	const least = 10 * time.Millisecond
	calls := max(1, 1000/(1+size/1024))
	to, from := make([]byte, size), make([]byte, size)
	c := &counted{}
	var values []float64
	for range suite.Repetitions {
		n := 0
		start := time.Now()
		for time.Since(start) < least/suite.Repetitions {
			for range calls {
				c.put(to, from)
			}
			n += calls
		}
		values = append(values, micros(start, n))
	}
	return report.Summarise(values).Median
}
