package ompi_test

import (
	"context"
	"fmt"

	"github.com/ompi-go/ompi-go/datatype"
	"github.com/ompi-go/ompi-go/ompi"
)

// The ranks are goroutines here; the same function given to ompi.Main runs as processes under mpirun.
func ExampleRun() {
	err := ompi.Run(context.Background(), 4, func(world *ompi.Comm) error {
		sum := []int{world.Rank()}
		if err := world.Allreduce(ompi.InPlace(), ompi.Slice(sum), ompi.Sum); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("the ranks add up to", sum[0])
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: the ranks add up to 6
}

// Columns of a field go round a ring: a derived datatype picks them, a Cartesian topology tells the neighbours.
func ExampleComm_CartCreate() {
	err := ompi.Run(context.Background(), 3, func(world *ompi.Comm) error {
		ring, err := world.CartCreate([]int{3}, []bool{true}, false)
		if err != nil {
			return err
		}
		west, east, err := ring.CartShift(0, 1)
		if err != nil {
			return err
		}
		const rows, columns = 2, 4 // the first column is a copy of what the western neighbour has last
		field := make([]float64, rows*columns)
		for i := range field {
			field[i] = float64(10*ring.Rank() + i)
		}
		column, err := datatype.Vector(rows, 1, columns, datatype.Float64)
		if err != nil {
			return err
		}
		last, first := ompi.TypedAt(field, columns-1, 1, column), ompi.TypedAt(field, 0, 1, column)
		if _, err := ring.Sendrecv(last, east, 0, first, west, 0); err != nil {
			return err
		}
		if ring.Rank() == 1 {
			fmt.Println(field)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [3 11 12 13 7 15 16 17]
}

// A sum goes on while the rank computes.
func ExampleComm_Iallreduce() {
	err := ompi.Run(context.Background(), 2, func(world *ompi.Comm) error {
		part, total := []float64{1.5, 2.5}, make([]float64, 2)
		r := world.Iallreduce(ompi.Slice(part), ompi.Slice(total), ompi.Sum)
		// ... compute ...
		if _, err := r.Wait(); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println(total)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [3 5]
}

// Completions in the order in which they happen.
func ExampleCompleted() {
	err := ompi.Run(context.Background(), 3, func(world *ompi.Comm) error {
		if world.Rank() != 0 {
			v := world.Rank() * 100
			return world.Send(ompi.Value(&v), 0, 0)
		}
		var in [2]int
		reqs := []ompi.Request{world.Irecv(ompi.Value(&in[0]), 1, 0), world.Irecv(ompi.Value(&in[1]), 2, 0)}
		sum := 0
		for i, res := range ompi.Completed(context.Background(), reqs...) {
			if res.Err != nil {
				return res.Err
			}
			sum += in[i]
		}
		fmt.Println("received", sum)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: received 300
}
