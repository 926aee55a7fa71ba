// Pi integrates 4/(1+x²) from 0 to 1, each rank its share of the strips, and adds the shares with Reduce.
//
//	mpirun -n 4 examples/pi [STRIPS]
package main

import (
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/ompi-go/ompi-go/ompi"
)

func main() {
	ompi.Main(func(world *ompi.Comm) error {
		strips := 10_000_000
		if len(os.Args) > 1 {
			n, err := strconv.Atoi(os.Args[1])
			if err != nil || n < 1 {
				return fmt.Errorf("pi: STRIPS is %q, want a number from 1 up", os.Args[1])
			}
			strips = n
		}
		var share, pi float64
		width := 1 / float64(strips)
		for i := world.Rank(); i < strips; i += world.Size() {
			x := (float64(i) + 0.5) * width
			share += 4 / (1 + x*x) * width
		}
		if err := world.Reduce(ompi.Value(&share), ompi.Value(&pi), ompi.Sum, 0); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Printf("pi is %.12f, off by %.1e, from %d strips on %d ranks\n", pi, math.Abs(pi-math.Pi), strips, world.Size())
		}
		return nil
	})
}
