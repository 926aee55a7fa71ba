// Ring passes a token once round all ranks; every rank adds one to it.
//
//	mpirun -n 4 examples/ring [ROUNDS]
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/ompi-go/ompi-go/ompi"
)

func main() {
	ompi.Main(func(world *ompi.Comm) error {
		rounds := 1
		if len(os.Args) > 1 {
			n, err := strconv.Atoi(os.Args[1])
			if err != nil || n < 1 {
				return fmt.Errorf("ring: ROUNDS is %q, want a number from 1 up", os.Args[1])
			}
			rounds = n
		}
		rank, size := world.Rank(), world.Size()
		next, previous := (rank+1)%size, (rank+size-1)%size
		for round := 1; round <= rounds; round++ {
			var token, back int64
			if rank == 0 {
				// Sending and receiving at once also works when rank 0 is its own neighbour.
				token = 1
				if _, err := world.Sendrecv(ompi.Value(&token), next, 0, ompi.Value(&back), previous, 0); err != nil {
					return err
				}
				fmt.Printf("round %d: the token passed %d of %d ranks\n", round, back, size)
				continue
			}
			if _, err := world.Recv(ompi.Value(&token), previous, 0); err != nil {
				return err
			}
			token++
			if err := world.Send(ompi.Value(&token), next, 0); err != nil {
				return err
			}
		}
		return nil
	})
}
