package main

import (
	"errors"

	"github.com/ompi-go/ompi-go/ompi"
)

// agreedError is an error that all ranks know of. It reads the same on each; the rank that had it keeps the cause.
type agreedError struct {
	text  string
	cause error // nil on the other ranks
}

func (e *agreedError) Error() string { return e.text }
func (e *agreedError) Unwrap() error { return e.cause }

// agree is called by all ranks, each with its own outcome, and gives all of them the error of the lowest rank that has one: nobody goes
// on while another gave up.
func agree(world *ompi.Comm, mine error) error {
	rank, none := int64(world.Rank()), int64(world.Size())
	first, claim := none, none
	if mine != nil {
		claim = rank
	}
	if err := world.Allreduce(ompi.Value(&claim), ompi.Value(&first), ompi.Min); err != nil {
		return errors.Join(mine, err)
	}
	if first == none {
		return nil
	}
	var text []byte
	if rank == first {
		text = []byte(mine.Error())
	}
	length := int64(len(text))
	if err := world.Bcast(ompi.Value(&length), int(first)); err != nil {
		return errors.Join(mine, err)
	}
	if rank != first {
		text = make([]byte, length)
	}
	if err := world.Bcast(ompi.Slice(text), int(first)); err != nil {
		return errors.Join(mine, err)
	}
	return &agreedError{text: string(text), cause: mine}
}
